"""The points of a store, from the oldest to the newest."""

from dataclasses import replace
from datetime import UTC, datetime

from barnabas.backup.manifest import BackupDamagedError, Point, decode_point, encode_point
from barnabas.backup.signature import SigningKey
from barnabas.backup.store import BackupStore
from barnabas.errors import BarnabasError

POINTS = "points"
PARTIAL = "partial.json"
_SUFFIX = ".json"


class NoBackupError(BarnabasError):
    """There is no point in the store."""


def point_name(point: Point) -> str:
    """Where a point is stored: names are in order of time, and runs do not share them."""
    moment = datetime.fromtimestamp(point.created_at_ms / 1000, UTC)
    stamp = moment.strftime("%Y%m%dT%H%M%S.") + f"{moment.microsecond // 1000:03}Z"
    return f"{POINTS}/{stamp}-{point.run}{_SUFFIX}"


def point_names(store: BackupStore) -> list[str]:
    """The names of all points, in order."""
    return sorted(each.name for each in store.files(POINTS) if each.name.endswith(_SUFFIX))


def read_point(store: BackupStore, name: str) -> Point:
    """Raises `BackupDamagedError`."""
    content = store.read(name)
    if content is None:
        raise BackupDamagedError(f"{store.description}/{name} is gone")
    point = decode_point(content, f"{store.description}/{name}")
    if point_name(point) != name:
        # The order of the names is the order of the points: an old point must not pass for a new.
        raise BackupDamagedError(
            f"{store.description}/{name} was renamed: it is {point_name(point)}"
        )
    return point


def read_points(store: BackupStore) -> list[Point]:
    """All points, in order. Raises `NoBackupError`, `BackupDamagedError`."""
    found = [read_point(store, name) for name in point_names(store)]
    if not found:
        raise NoBackupError(
            f"there is no backup in {store.description}; make one with `barnabas backup create`"
        )
    return found


def previous_point(store: BackupStore, key: SigningKey | None = None) -> Point | None:
    """What the next run builds on: the last point, or what a later run has left unfinished.

    An unfinished run counts only if it was signed with this key, or without one if there is none.
    The last point is not checked.
    """
    names = point_names(store)
    last = read_point(store, names[-1]) if names else None
    content = store.read(PARTIAL)
    if content is not None:
        try:
            partial = decode_point(content, PARTIAL)
        except BackupDamagedError:
            return last  # it only saves work
        if not (partial.signature is None if key is None else key.has_signed(partial)):
            return last
        if last is None or partial.created_at_ms > last.created_at_ms:
            return partial
    return last


def write_point(store: BackupStore, point: Point, key: SigningKey | None = None) -> str:
    """Make a point part of the backup; its files are there already. Returns its name."""
    name = point_name(point)
    store.write(name, encode_point(_signed(point, key)))
    store.delete(PARTIAL)
    return name


def write_partial(store: BackupStore, point: Point, key: SigningKey | None = None) -> None:
    """Note what an unfinished run has copied."""
    store.write(PARTIAL, encode_point(_signed(point, key)))


def _signed(point: Point, key: SigningKey | None) -> Point:
    return point if key is None else replace(point, signature=key.signature_of(point))
