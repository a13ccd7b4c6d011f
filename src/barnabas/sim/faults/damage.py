"""Damage to what a machine that is not running has on its disk, of a kind that can be noticed.

It can not be noticed that the last records of a log are gone if they were acknowledged after the
high watermarks were last written down, or that a bit has flipped in a segment that nothing reads.
So whole directories go only if they are listed, and of a log only what has something behind it.
"""

import json
from contextlib import suppress
from random import Random

from barnabas.records.batch import batch_size
from barnabas.records.decode import iter_batches
from barnabas.records.errors import CorruptBatch
from barnabas.sim.machine.disk import SimulatedDisk
from barnabas.sim.machine.inode import Directory, Inode
from barnabas.sim.machine.rot import flip_epoch

_LISTED = "replication-offset-checkpoint"
_STATE = "log.state"
_CHECKED_FROM = 21


def lose_directory(disk: SimulatedDisk, random: Random) -> str | None:
    """Remove the directory of a partition; returns what was done, None if nothing could be."""
    data = _data(disk)
    listed = data.get(_LISTED)
    if not isinstance(listed, Inode):
        return None
    lines = [line.split() for line in bytes(listed.data).decode(errors="replace").splitlines()[2:]]
    names = [f"{line[0]}-{line[1]}" for line in lines if len(line) == 4]
    names = [name for name in names if name in data]
    if not names:
        return None
    name = random.choice(names)
    del data[name]
    return f"loses the directory {name}"


def make_hole(disk: SimulatedDisk, random: Random) -> str | None:
    """Damage a segment that is not the last one; returns what was done."""
    found = []
    for name, directory in sorted(_data(disk).items()):
        if isinstance(directory, Directory) and not name.startswith("__"):
            logs = sorted(each for each in directory.entries if each.endswith(".log"))
            found += [(name, directory, log) for log in logs[:-1]]
    if not found:
        return None
    name, directory, log = random.choice(found)
    node = directory.entries[log]
    assert isinstance(node, Inode)
    match random.choice(("delete", "truncate", "flip")):
        case "delete":
            del directory.entries[log]
            return f"loses {name}/{log}"
        case "flip" if len(node.data) > _CHECKED_FROM and not _is_vouched(
            directory, log, len(node.data)
        ):
            # In the first batch, where its checksum covers it: offset and epoch are before that.
            # After a loss of power a batch may say that it is shorter than a header, and after a
            # loss of the segment's end that it is longer than what is left.
            end = min(batch_size(node.data), len(node.data))
            at = random.randrange(_CHECKED_FROM, max(_CHECKED_FROM + 1, end))
            node.data[at] ^= 1 << random.randrange(8)
            return f"has a flipped bit in {name}/{log}"
        case _:
            del node.data[random.randrange(len(node.data) or 1) :]
            node.unsynced.clear()
            return f"loses the end of {name}/{log}"


def garble_epoch(disk: SimulatedDisk, random: Random) -> str | None:
    """Flip a bit in the leader epoch of a batch; returns what was done."""
    found = []
    for name, directory in sorted(_data(disk).items()):
        if isinstance(directory, Directory) and not name.startswith("__"):
            for log, node in sorted(directory.entries.items()):
                if log.endswith(".log") and isinstance(node, Inode):
                    is_vouched = _is_vouched(directory, log, len(node.data))
                    positions = [] if is_vouched else _positions(node)
                    found += [(name, log, node, at) for at in positions]
    if not found:
        return None
    name, log, node, position = random.choice(found)
    flip_epoch(node.data, position, random)
    return f"has a garbled leader epoch in {name}/{log} at position {position}"


def _positions(node: Inode) -> list[int]:
    """Where batches begin."""
    positions: list[int] = []
    position = 0
    with suppress(CorruptBatch):  # what was not recovered since a loss of power may be anything
        for _, view in iter_batches(bytes(node.data)):
            positions.append(position)
            position += len(view)
    return positions


def _is_vouched(directory: Directory, log: str, size: int) -> bool:
    """Whether the next start takes the segment for whole without a look into it."""
    state = directory.entries.get(_STATE)
    if not isinstance(state, Inode):
        return False
    try:
        segments = json.loads(bytes(state.data).partition(b"\n")[0]).get("segments", ())
    except ValueError:  # torn by a loss of power
        return False
    return any(segment[:2] == [int(log[:20]), size] for segment in segments)


def _data(disk: SimulatedDisk) -> dict[str, Inode | Directory]:
    data = disk.root.entries.get("data")
    return data.entries if isinstance(data, Directory) else {}
