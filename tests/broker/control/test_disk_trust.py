"""Whether a returning disk may be trusted."""

from pathlib import Path

import pytest

from barnabas.broker.control.disk_trust import UNKNOWN_EPOCH, DiskTrust
from barnabas.log import OsDisk


def trust(directory: Path, boot_id: str) -> DiskTrust:
    return DiskTrust(OsDisk(), str(directory), boot_id)


def test_a_new_disk_vouches_for_nothing(tmp_path: Path) -> None:
    assert trust(tmp_path, "boot").read() == (UNKNOWN_EPOCH, False)


def test_a_directory_is_new_until_the_first_registration(tmp_path: Path) -> None:
    disk = trust(tmp_path, "boot")
    assert disk.is_directory_new
    disk.registered(7, is_sure=False)
    assert not disk.is_directory_new


def test_a_killed_process_has_lost_nothing(tmp_path: Path) -> None:
    trust(tmp_path, "boot").registered(7)
    assert trust(tmp_path, "boot").read() == (7, True)


def test_a_machine_that_went_down_may_have_lost_something(tmp_path: Path) -> None:
    trust(tmp_path, "boot").registered(7)
    assert trust(tmp_path, "other boot").read() == (7, False)


def test_a_clean_stop_outlives_the_machine(tmp_path: Path) -> None:
    trust(tmp_path, "boot").stopped(7)
    assert trust(tmp_path, "other boot").read() == (7, True)


def test_a_clean_stop_is_over_with_the_next_registration(tmp_path: Path) -> None:
    trust(tmp_path, "boot").stopped(7)
    trust(tmp_path, "other boot").registered(8)
    assert trust(tmp_path, "third boot").read() == (8, False)


def test_an_unknown_boot_is_no_reason_to_trust(tmp_path: Path) -> None:
    trust(tmp_path, "").registered(7)
    assert trust(tmp_path, "").read() == (7, False)


@pytest.mark.parametrize("text", ["", "broker.epoch=x\nclean=true\n", "clean=true\n", "\xff"])
def test_a_file_that_makes_no_sense_vouches_for_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "broker.state").write_text(text, encoding="latin-1")
    assert trust(tmp_path, "boot").read() == (UNKNOWN_EPOCH, False)


def test_no_flipped_bit_makes_a_disk_trusted_that_was_not(tmp_path: Path) -> None:
    path = tmp_path / "broker.state"
    trust(tmp_path, "boot").registered(7)
    whole = path.read_bytes()
    for at in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        assert trust(tmp_path, "other").read() in ((7, False), (UNKNOWN_EPOCH, False))
        assert trust(tmp_path, "boot").read() in ((7, True), (7, False), (UNKNOWN_EPOCH, False))


def test_a_file_of_an_earlier_release_has_no_checksum(tmp_path: Path) -> None:
    (tmp_path / "broker.state").write_text("broker.epoch=7\nboot.id=boot\nclean=false\n")
    assert trust(tmp_path, "boot").read() == (7, True)
