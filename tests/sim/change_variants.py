"""Rules about changes of topics broken, one at a time; here an operator makes some in every run."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.partition import Partition
from barnabas.groups.modern import target
from barnabas.groups.modern.topics import Topics, existing
from barnabas.log import LogConfig
from barnabas.sim import run
from tests.sim.variant import Variant


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.object(run, "_CHANGES", 1.0)], emphasis)


def _min_insync_as_it_was(self: Partition, log_config: LogConfig, limits: AppendLimits) -> None:
    before = self.limits.min_insync_replicas
    original_configure(self, log_config, replace(limits, min_insync_replicas=before))


original_configure = Partition.configure


def _number_of_topics(names: Collection[str], topics: Topics) -> int:
    return len(list(existing(names, topics)))


VARIANTS: dict[str, Variant] = {
    "keep min.insync.replicas as it was when the replica was opened": _variant(
        patch.object(Partition, "configure", _min_insync_as_it_was)
    ),
    "overlook partitions that are added to a topic of a group": _variant(
        patch.object(target, "metadata_hash", _number_of_topics)
    ),
}
