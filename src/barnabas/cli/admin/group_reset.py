"""The options of `groups reset-offsets`, as a plan."""

from collections.abc import Sequence
from time import time
from typing import NamedTuple

from barnabas.cli.base.command import CommandError, UsageError
from barnabas.cli.base.partition_names import named_partitions
from barnabas.cli.base.times import parse_time
from barnabas.client.admin.group_reset import Move, ResetKind, ResetTarget, plan_reset
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import InvalidArgument


class TargetOptions(NamedTuple):
    """Where to; exactly one of them must be given."""

    to_earliest: bool
    to_latest: bool
    to_offset: int | None
    to_time: str | None
    shift_by: int | None


async def plan_of_options(
    cluster: ClusterClient,
    group_id: str,
    topics: Sequence[str],
    options: TargetOptions,
    *,
    all_topics: bool,
) -> list[Move]:
    """What a reset would do."""
    target = _target(options)
    if all_topics == bool(topics):
        raise UsageError("give either --topic TOPIC or --all-topics")
    partitions = None if all_topics else await named_partitions(cluster, topics, "--topic ")
    try:
        return await plan_reset(cluster, group_id, partitions, target)
    except InvalidArgument as error:  # the options make sense, and the group has no such offsets
        raise CommandError(str(error)) from error


def _target(options: TargetOptions) -> ResetTarget:
    if sum(each is not None and each is not False for each in options) != 1:
        raise UsageError(
            "give exactly one of --to-earliest, --to-latest, --to-offset, --to-time, --shift-by"
        )
    if options.to_offset is not None:
        return ResetTarget(ResetKind.OFFSET, options.to_offset)
    if options.to_time is not None:
        now_ms = int(time() * 1000)
        return ResetTarget(ResetKind.TIME, parse_time(options.to_time, now_ms))
    if options.shift_by is not None:
        return ResetTarget(ResetKind.SHIFT, options.shift_by)
    return ResetTarget(ResetKind.EARLIEST if options.to_earliest else ResetKind.LATEST)
