"""Rules of share groups broken, one at a time."""

from asyncio import Future
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from barnabas.broker.share.led_share_partition import LedSharePartition
from barnabas.share.acknowledgement import Acknowledgement, Refusal
from barnabas.share.acquisition import Acquisition
from barnabas.share.in_flight_batch import InFlightBatch
from barnabas.share.share_partition import NO_DEADLINE_MS, SharePartition
from barnabas.share.state import SharePartitionKey, ShareStateShard
from barnabas.sim import run
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.write_share_group_state import PartitionData
from tests.sim import schedules
from tests.sim.variant import Variant


def _lock_for_the_first_time(self: Acquisition, batch: InFlightBatch) -> None:
    batch.delivery_count = 0
    original_lock(self, batch)


original_lock = Acquisition._lock


def _is_open(self: InFlightBatch) -> bool:
    return not self.state.is_terminal and self.outcome is None


def _acknowledge_at_once(
    self: LedSharePartition, member_id: str, acknowledgements: Sequence[Acknowledgement]
) -> "Refusal | Future[ErrorCode] | None":
    outcome = original_acknowledge(self, member_id, acknowledgements)
    return outcome if isinstance(outcome, Refusal) else None


original_acknowledge = LedSharePartition.acknowledge


def _release_nothing(self: SharePartition, *_: object) -> bool:
    self.next_deadline_ms = NO_DEADLINE_MS
    return False


def _write_of_any_leader(
    self: ShareStateShard, key: SharePartitionKey, asked: PartitionData, *further: Any
) -> ErrorCode:
    state = self._pending.get(key)
    if state is not None:
        asked.leader_epoch = max(asked.leader_epoch, state.leader_epoch)
        asked.state_epoch = max(asked.state_epoch, state.state_epoch)
    return original_write(self, key, asked, *further)


original_write = ShareStateShard._write


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    """With a share group in every run."""
    return Variant([*patches, patch.object(run, "_SHARE_GROUPS", 1.0)], emphasis)


VARIANTS: dict[str, Variant] = {
    "forget stored states of records at a new leader": _variant(
        patch.object(SharePartition, "_load", lambda *_: None), emphasis="kills"
    ),
    "count every delivery as the first": _variant(
        patch.object(Acquisition, "_lock", _lock_for_the_first_time)
    ),
    "deliver records that another member holds": _variant(
        patch.object(InFlightBatch, "is_available", property(_is_open))
    ),
    "answer acknowledgements before they are stored": _variant(
        patch.object(LedSharePartition, "acknowledge", _acknowledge_at_once), emphasis="kills"
    ),
    "never end locks of records": _variant(patch.object(SharePartition, "tick", _release_nothing)),
    "store share states of former leaders": Variant(
        [patch.object(ShareStateShard, "_write", _write_of_any_leader)],
        schedule=schedules.write_of_a_former_leader,
    ),
}
