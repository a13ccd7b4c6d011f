"""Which records may be missing, and which may not come back."""

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.sim.checks.deleted_records import DeletedRecords
from barnabas.sim.checks.history import Place, Violation

PLACE = Place("short", 0)
LONG_MS = 7 * 24 * 3_600_000


def replica(start: int, *, size: int = 0, retention_bytes: int = -1, ms: int = LONG_MS) -> Any:
    """One whose log starts at an offset and has some bytes left."""
    config = SimpleNamespace(retention_ms=ms, retention_bytes=retention_bytes)
    log = SimpleNamespace(log_start_offset=start, size_bytes=size, config=config)
    return _Replica(log)


class _Replica:
    topic, index, name, leader_epoch = "short", 0, "short-0", 3

    def __init__(self, log: Any) -> None:
        self.log = log


def test_what_a_client_wanted_deleted_may_be_missing() -> None:
    deleted = DeletedRecords()
    deleted.asks(PLACE, 5)
    deleted.check_start(1, replica(5), 8)
    deleted.check_start(2, replica(4), 8)
    assert deleted.start_of(PLACE) == 5
    with pytest.raises(Violation, match="deleted records up to 6"):
        deleted.check_start(1, replica(6), 8)


def test_nothing_is_deleted_that_is_not_committed() -> None:
    deleted = DeletedRecords()
    deleted.asks(PLACE, -1)
    deleted.check_start(1, replica(8), 8)
    with pytest.raises(Violation, match="only 8 are committed"):
        deleted.check_start(1, replica(9), 8)


def test_retention_keeps_as_many_bytes_as_it_has_to() -> None:
    deleted = DeletedRecords()
    deleted.check_start(1, replica(3, size=2000, retention_bytes=2000), 8)
    deleted.check_start(1, replica(5, ms=1_500), 8)
    with pytest.raises(Violation, match="1999 bytes are left"):
        deleted.check_start(1, replica(7, size=1999, retention_bytes=2000), 8)


def test_who_may_be_elected_has_deleted_what_a_client_was_told_is_deleted() -> None:
    deleted = DeletedRecords()
    deleted.answered(PLACE, 5)
    deleted.answered(PLACE, 3)
    deleted.check_in_sync(1, replica(5))
    with pytest.raises(Violation, match="node 2 may be elected and starts at 4"):
        deleted.check_in_sync(2, replica(4))
    with pytest.raises(Violation, match="node 2 leads in epoch 3 and starts at 4"):
        deleted.check_leader(2, replica(4))


def test_a_replica_that_has_lost_something_may_have_deleted_records_until_it_deletes_them() -> None:
    deleted = DeletedRecords()
    deleted.answered(PLACE, 5)
    deleted.asks(PLACE, 5)
    deleted.loses(2)
    deleted.check_in_sync(2, replica(4))
    deleted.check_start(2, replica(5), 8)
    with pytest.raises(Violation, match="records below 5 are deleted"):
        deleted.check_in_sync(2, replica(4))


def test_what_a_leader_brings_back_its_followers_may_have_too() -> None:
    deleted = DeletedRecords()
    deleted.answered(PLACE, 5)
    deleted.loses(2)
    deleted.check_leader(2, replica(4))
    deleted.check_in_sync(1, replica(4))
    with pytest.raises(Violation, match="records below 4 are deleted"):
        deleted.check_in_sync(1, replica(3))
