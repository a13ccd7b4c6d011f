"""Rules of compacted topics broken, one at a time; here every run has one."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.follower import follower_log
from barnabas.log import Log
from barnabas.log.compaction.log_compaction import LogCompaction
from barnabas.log.compaction.plan import Plan, plan
from barnabas.log.compaction.retained import Retained
from barnabas.log.offset_assignment import Batches
from barnabas.log.recovery.segment_loader import SegmentLoader
from barnabas.sim import run
from tests.sim.variant import Variant


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.object(run, "_COMPACTIONS", 1.0)], emphasis)


def _up_to_the_end(self: LogCompaction, now_ms: int, _upto_offset: int | None) -> Plan | None:
    log = self._log
    return plan(log.segments, log.config, log.compaction_progress, now_ms, log.log_end_offset)


def _over_at_once(self: Retained, *arguments: Any) -> None:
    original_retained(self, *arguments)
    self._horizon_ms = self._now_ms


original_retained = Retained.__init__


def _only_headers(self: SegmentLoader, *arguments: Any, **options: Any) -> None:
    original_loader(self, *arguments, **options)
    self.known_epochs = []


original_loader = SegmentLoader.__init__


def _learns_only_from_batches(_log: Log, _batches: Batches) -> bool:
    return False


VARIANTS: dict[str, Variant] = {
    "compact records that are not committed": _variant(
        patch.object(LogCompaction, "_plan", _up_to_the_end), emphasis="network"
    ),
    "remove tombstones before their time": _variant(
        patch.object(Retained, "__init__", _over_at_once), emphasis="moves"
    ),
    "let epochs begin at the first batch that compaction has left": _variant(
        patch.object(SegmentLoader, "__init__", _only_headers)
    ),
    "learn from fetched batches alone where epochs began": _variant(
        patch.object(follower_log, "_begins_epoch_behind_gap", _learns_only_from_batches),
        emphasis="damage",
    ),
}
