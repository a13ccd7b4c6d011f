"""Rules about deleted records broken, one at a time; here every run deletes some."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.follower import replica_fetcher
from barnabas.broker.follower.follower_log import start_at, take_over_bounds
from barnabas.broker.handlers import delete_records
from barnabas.broker.replica.partition import Partition
from barnabas.log.retention import LogRetention
from barnabas.log.segment.deletion import DeleteJob
from barnabas.replication import LeaderState
from barnabas.sim import run
from tests.sim import schedules
from tests.sim.variant import Variant


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.object(run, "_DELETIONS", 1.0)], emphasis)


async def _at_once(*_: Any) -> None:
    return


def _up_to_the_end(self: Partition, _offset: int) -> DeleteJob | None:
    return original_delete(self, self.log.log_end_offset)


original_delete = Partition.delete_records_before


def _whatever_is_committed(self: LogRetention, now_ms: int, **_: Any) -> DeleteJob | None:
    return original_apply(self, now_ms)


original_apply = LogRetention.apply


def _later_than_the_leader(partition: Partition, offset: int) -> None:
    start_at(partition, offset + 3)


def _kept(partition: Partition, high_watermark: int, _log_start_offset: int) -> DeleteJob | None:
    return take_over_bounds(partition, high_watermark, 0)


def _without_eligible(self: LeaderState, offset: int) -> bool:
    before, self._eligible = self._eligible, frozenset()
    try:
        return original_confirm(self, offset)
    finally:
        self._eligible = before


original_confirm = LeaderState.confirm_deletion


def _with_deleted_records(self: LeaderState, *arguments: int) -> bool:
    before, self._deleted_upto = self._deleted_upto, 0
    try:
        return original_can_join(self, *arguments)
    finally:
        self._deleted_upto = before


original_can_join = LeaderState.can_join


VARIANTS: dict[str, Variant] = {
    "answer deletions before the followers have made them": _variant(
        patch.object(delete_records, "_followed", _at_once), emphasis="kills"
    ),
    "answer deletions before eligible leaders have made them": _variant(
        patch.object(LeaderState, "confirm_deletion", _without_eligible)
    ),
    "let followers join before they have made deletions that were answered": Variant(
        [patch.object(LeaderState, "can_join", _with_deleted_records)],
        schedule=schedules.return_with_deleted_records,
    ),
    "keep records on followers that their leader has deleted": _variant(
        patch.object(replica_fetcher, "take_over_bounds", _kept), emphasis="pauses"
    ),
    "delete records on request that are not committed": _variant(
        patch.object(Partition, "delete_records_before", _up_to_the_end), emphasis="kills"
    ),
    "let retention delete records that are not committed": _variant(
        patch.object(LogRetention, "apply", _whatever_is_committed), emphasis="network"
    ),
    "begin a log again behind the start of its leader": _variant(
        patch.object(replica_fetcher, "start_at", _later_than_the_leader), emphasis="disks"
    ),
}
