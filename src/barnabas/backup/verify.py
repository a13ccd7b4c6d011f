"""Reads all that belongs to points of a backup, and names what is damaged."""

import hashlib
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from barnabas.backup.manifest import BackupDamagedError, DataFile
from barnabas.backup.points import point_names, read_point
from barnabas.backup.signature import SignatureError, SigningKey
from barnabas.backup.store import BackupStore
from barnabas.records.batch import compute_crc
from barnabas.records.decode import iter_batches
from barnabas.records.errors import RecordsError


class Damage(NamedTuple):
    """A file that is not what was written, and what of it is affected."""

    name: str
    reason: str
    topic: str | None = None
    partition: int | None = None
    first: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        if self.topic is None:
            return f"{self.name}: {self.reason}"
        last = (self.end or 0) - 1
        return (
            f"{self.name}: {self.reason}; {self.topic}-{self.partition} offsets {self.first} to "
            f"{last}"
        )


class Verified(NamedTuple):
    """What was read."""

    points: int
    files: int
    bytes: int
    damages: list[Damage]
    signed: int
    """Points with a signature; it was checked if there was a key."""


def verify(
    store: BackupStore,
    names: Collection[str] | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
    key: SigningKey | None = None,
) -> Verified:
    """Read these points, or all, and each file once; `progress` hears bytes read and all bytes.

    With a key, a point without a signature, or with a wrong one, is damaged.
    """
    damages: list[Damage] = []
    files: dict[str, tuple[str, int, DataFile]] = {}
    points = signed = 0
    for name in point_names(store) if names is None else names:
        try:
            point = read_point(store, name)
            if key is not None:
                key.check(point, "the point")
        except (BackupDamagedError, SignatureError) as error:
            damages.append(Damage(name, str(error)))
            continue
        points += 1
        signed += point.signature is not None
        files |= {each.name: (topic, index, each) for topic, index, each in point.files()}
    total = sum(each.bytes for _, _, each in files.values())
    done = 0
    for topic, index, each in files.values():
        damages += _damages(store, topic, index, each)
        done += each.bytes
        progress(done, total)
    return Verified(points, len(files), total, damages, signed)


def _damages(store: BackupStore, topic: str, index: int, file: DataFile) -> Iterator[Damage]:
    content = store.read(file.name)
    if content is None:
        yield Damage(file.name, "is missing", topic, index, file.first, file.end)
        return
    if hashlib.sha256(content).hexdigest() == file.sha256:
        return
    reason = f"has {len(content)} bytes, not {file.bytes}"
    if len(content) == file.bytes:
        reason = "the checksum is wrong"
    ranges = list(_damaged_ranges(content, file))
    for first, end in ranges or [(file.first, file.end)]:
        yield Damage(file.name, reason, topic, index, first, end)


def _damaged_ranges(content: bytes, file: DataFile) -> Iterator[tuple[int, int]]:
    """Offsets of the batches that can't be trusted; what follows a broken header can't be found."""
    position = file.first
    read = 0
    try:
        for header, batch in iter_batches(content):
            in_order = position <= header.base_offset and header.next_offset <= file.end
            if not in_order and position > file.first:
                yield position, file.end
                return
            if compute_crc(batch) != header.crc:
                yield header.base_offset, header.next_offset
            position = header.next_offset
            read += len(batch)
    except RecordsError:
        yield position, file.end
        return
    if read < file.bytes:
        yield position, file.end
