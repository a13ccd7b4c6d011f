"""Deletes old points, and data files that belong to no point."""

from typing import NamedTuple

from barnabas.backup.partition_backup import DATA
from barnabas.backup.points import PARTIAL, point_names, read_point
from barnabas.backup.store import BackupStore


class Pruned(NamedTuple):
    """What was deleted."""

    points: int
    files: int
    bytes: int


def prune(store: BackupStore, keep: int) -> Pruned:
    """Keep the newest points, and what they need. No run of `create` may be under way.

    A damaged point among those that are kept raises `BackupDamagedError` before anything is
    deleted: its files could not be told from others.
    """
    names = point_names(store)
    kept = names[-keep:]
    needed = {file.name for name in kept for _, _, file in read_point(store, name).files()}
    for name in names[:-keep]:
        store.delete(name)
    store.delete(PARTIAL)
    unused = [each for each in store.files(DATA) if each.name not in needed]
    for each in unused:
        store.delete(each.name)
    return Pruned(len(names) - len(kept), len(unused), sum(each.size for each in unused))
