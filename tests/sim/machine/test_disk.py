"""What survives on the simulated disk."""

from collections.abc import Callable
from random import Random

import pytest

from barnabas.log.errors import DirectoryLocked
from barnabas.log.storage import File
from barnabas.sim.machine.disk import DiskErrors, Operation, SimulatedDisk
from barnabas.sim.machine.process_disk import ProcessDisk
from barnabas.sim.process.loop import Killed


def _disk(seed: int = 1) -> tuple[SimulatedDisk, ProcessDisk]:
    machine = SimulatedDisk(Random(seed), lambda: 0)
    disk = ProcessDisk(machine, lambda: disk.die())
    disk.make_directory("/d")
    disk.sync_directory("/")
    return machine, disk


def _after_power_loss(machine: SimulatedDisk) -> ProcessDisk:
    machine.lose_power()
    return ProcessDisk(machine, lambda: None)


def test_what_is_synced_survives_and_what_is_not_is_left_to_chance() -> None:
    outcomes = set()
    for seed in range(200):
        machine, disk = _disk(seed)
        file = disk.open("/d/f", create=True)
        disk.sync_directory("/d")
        file.write(b"a" * 1000, 0)
        file.sync()
        file.write(b"b" * 1000, 1000)
        data = _after_power_loss(machine).read_file("/d/f")
        assert data[:1000] == b"a" * 1000
        outcomes.add(data[1000:])
    assert {b"", b"b" * 1000} <= outcomes
    assert any(b"b" in one and one != b"b" * 1000 for one in outcomes), "torn writes"
    assert any(len(set(one) - set(b"b\0")) == 1 for one in outcomes), "flipped bits"


def test_an_overwritten_part_comes_back_or_not() -> None:
    outcomes = set()
    for seed in range(50):
        machine, disk = _disk(seed)
        file = disk.open("/d/f", create=True)
        disk.sync_directory("/d")
        file.write(b"old old old", 0)
        file.sync()
        file.write(b"new", 4)
        file.truncate(7)
        outcomes.add(_after_power_loss(machine).read_file("/d/f"))
    assert {b"old old old", b"old new"} <= outcomes
    assert {len(one) for one in outcomes} == {7, 11}


def test_names_are_lost_in_the_reverse_order_of_their_making() -> None:
    outcomes = set()
    for seed in range(50):
        machine, disk = _disk(seed)
        for name in "abc":
            disk.open(f"/d/{name}", create=True)
        disk.rename("/d/a", "/d/z")
        outcomes.add("".join(sorted(_after_power_loss(machine).list_files("/d"))))
    assert outcomes == {"", "a", "ab", "abc", "bcz"}


def test_synced_names_stay() -> None:
    machine, disk = _disk()
    disk.replace_file("/d/f", b"one", sync=True)
    disk.unlink("/d/f")
    disk.sync_directory("/d")
    assert not _after_power_loss(machine).exists("/d/f")


def test_a_killed_process_leaves_what_it_wrote_and_does_no_more() -> None:
    machine, disk = _disk()
    file = disk.open("/d/f", create=True)
    file.write(b"x", 0)
    disk.lock("/d")
    disk.die()
    with pytest.raises(Killed):
        file.write(b"y", 1)
    successor = ProcessDisk(machine, lambda: None)
    assert successor.read_file("/d/f") == b"x"
    successor.lock("/d")
    with pytest.raises(DirectoryLocked):
        ProcessDisk(machine, lambda: None).lock("/d")


def test_a_process_may_die_half_way_through_a_write() -> None:
    lengths = set()
    for seed in range(100):
        machine, disk = _disk(seed)
        file = disk.open("/d/f", create=True)
        disk.kill_at = 0
        with pytest.raises(Killed):
            file.write(b"0123456789", 0)
        assert disk.is_dead
        lengths.add(len(ProcessDisk(machine, lambda: None).read_file("/d/f")))
    assert lengths == set(range(11))


def test_a_full_disk_refuses_growth_and_nothing_else() -> None:
    machine, disk = _disk()
    file = disk.open("/d/f", create=True)
    file.write(b"0123456789", 0)
    machine.is_full = True
    file.write(b"abc", 0)
    with pytest.raises(OSError, match="No space left"):
        file.write(b"defgh", 8)
    with pytest.raises(OSError, match="No space left"):
        disk.open("/d/new", create=True)
    assert file.read(8, 0) == b"abc34567"


def test_what_a_failed_sync_has_dropped_is_lost_although_the_next_one_succeeds() -> None:
    outcomes = set()
    for seed in range(50):
        machine, disk = _disk(seed)
        file = disk.open("/d/f", create=True)
        disk.sync_directory("/d")
        file.write(b"old", 0)
        file.sync()
        file.write(b"new", 3)
        errors = DiskErrors("/d/", frozenset({Operation.SYNC}), Random(seed), left=1)
        machine.errors.append(errors)
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
        file.sync()
        file.write(b"last", 6)
        file.sync()
        assert disk.read_file("/d/f") == b"oldnewlast", "it can be read"
        outcomes.add(_after_power_loss(machine).read_file("/d/f"))
    assert outcomes == {b"oldnewlast", b"old\0\0\0last"}


def test_what_a_failed_sync_has_dropped_can_be_written_again() -> None:
    for seed in range(50):
        machine, disk = _disk(seed)
        file = disk.open("/d/f", create=True)
        disk.sync_directory("/d")
        file.write(b"new", 0)
        machine.errors.append(DiskErrors("/d/", frozenset({Operation.SYNC}), Random(seed), left=1))
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
        file.write(file.read(3, 0), 0)
        file.sync()
        assert _after_power_loss(machine).read_file("/d/f") == b"new"


@pytest.mark.parametrize("operation", Operation)
def test_chosen_operations_fail_on_chosen_files(operation: Operation) -> None:
    machine, disk = _disk()
    disk.make_directory("/e")
    files = [disk.open(path, create=True) for path in ("/d/f", "/e/f")]
    calls: dict[Operation, Callable[[File, str], object]] = {
        Operation.READ: lambda file, _: file.read(1, 0),
        Operation.WRITE: lambda file, _: file.write(b"a", 0),
        Operation.CREATE: lambda _, directory: disk.open(f"{directory}/g", create=True),
        Operation.SYNC: lambda file, _: file.sync(),
    }
    machine.errors.append(DiskErrors("/d/", frozenset({operation}), Random(1)))
    for kind, call in calls.items():
        call(files[1], "/e")
        if kind is operation:
            with pytest.raises(OSError, match="Input/output"):
                call(files[0], "/d")
            with machine.inspected():
                call(files[0], "/d")
        else:
            call(files[0], "/d")
