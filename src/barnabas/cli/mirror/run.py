"""`barnabas mirror run`: flows in the foreground, from options or from a file of Mirror Maker 2."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from barnabas.cli.base.command import UsageError, command
from barnabas.cli.base.output import say
from barnabas.cli.mirror.flow_file import FlowNames, PropertyFile, read_flows
from barnabas.cli.mirror.flow_options import (
    ExcludedGroups,
    ExcludedTopics,
    Groups,
    NamesChoice,
    NamesOption,
    Provenance,
    Source,
    SourceConfig,
    SyncAcls,
    SyncDeletes,
    SyncQuotas,
    Target,
    TargetConfig,
    TopicNames,
    flow_of,
    group_settings,
)
from barnabas.cli.mirror.foreground import run_flows

if TYPE_CHECKING:
    from barnabas.mirror.configured_flow import ConfiguredFlow

EPILOG = """\b
Examples:
  barnabas mirror run --from east=a:9092 --to west=b:9092 --topics 'orders,customers.*'
  barnabas mirror run --from kafka:9092 --to b:9092 --topics '.*' --names identity
  barnabas mirror run --from east=a:9093 --from-config east.properties --to west=b:9092 --topics o
  barnabas mirror run --properties mm2.properties --flow 'east->west'
"""
_MEGABYTE = 1_000_000
_MAX_PORT = 65_535


@command()
def run(
    ctx: typer.Context,
    source: Source = None,
    target: Target = None,
    topics: TopicNames = None,
    properties: PropertyFile = None,
    flow_names: FlowNames = None,
    exclude: ExcludedTopics = None,
    groups: Groups = None,
    exclude_groups: ExcludedGroups = None,
    names: NamesChoice = NamesOption.PREFIX,
    provenance: Provenance = False,
    start: Annotated[
        Literal["earliest", "latest"],
        typer.Option(help="First record of partitions that were never copied."),
    ] = "earliest",
    source_config: SourceConfig = None,
    target_config: TargetConfig = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Replicas of new topics. Default: that of the target's brokers.",
            show_default=False,
        ),
    ] = None,
    delete_topics: SyncDeletes = False,
    sync_acls: SyncAcls = False,
    sync_quotas: SyncQuotas = False,
    max_mb_per_second: Annotated[
        float | None,
        typer.Option(
            metavar="MB", min=0.001, help="Limit of the copying, per second.", show_default=False
        ),
    ] = None,
    compression: Annotated[
        Literal["gzip", "snappy", "lz4", "zstd"] | None,
        typer.Option(help="Compress batches that are not compressed.", show_default=False),
    ] = None,
    checkpoints: Annotated[Path | None, typer.Option(hidden=True)] = None,
    metrics_listener: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve metrics for Prometheus there, at /metrics. Default: none.",
            show_default=False,
        ),
    ] = None,
    master: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> int:
    """Copy topics until Ctrl-C, and continue where an earlier run has stopped.

    Several processes with the same clusters and topics share the partitions.

    Records keep key, value, headers, timestamp, partition and order, and arrive exactly once.
    """
    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.mirror_maker.file_settings import listed

    for option, given in (("--checkpoints", checkpoints), ("--master", master)):
        if given is not None:
            say(f"{option} has no effect: a mirror needs no Spark")
    metrics = None if metrics_listener is None else _address(metrics_listener)
    limit = None if max_mb_per_second is None else round(max_mb_per_second * _MEGABYTE)
    options: dict[str, Any] = {
        "provenance": provenance,
        "start": start,
        "sync_deletes": delete_topics,
        "sync_quotas": sync_quotas,
        "max_bytes_per_second": limit,
        "compression": compression,
    }
    if properties is not None:
        found = read_flows(ctx, properties, flow_names or [])
        for each in found.unused:
            say(f"not used: {each}")
        flows = [_with_options(each, sync_acls, options) for each in found.flows]
        return run_flows(flows, metrics)
    if source is None or target is None or topics is None:
        raise UsageError("give --from, --to and --topics, or --properties FILE")
    if flow_names:
        raise UsageError("--flow names a flow of a file: give --properties FILE as well")
    if exclude is not None:
        options["exclude"] = listed(exclude)
    options |= {"replication_factor": replication_factor, "sync_acls": sync_acls}
    flow = flow_of(source, target, topics, names, source_config, target_config, **options)
    taken = group_settings(groups, exclude_groups)
    return run_flows([ConfiguredFlow(flow, taken)], metrics)


def _address(text: str) -> tuple[str, int]:
    """Raises `UsageError`."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _MAX_PORT:
        raise UsageError(f"--metrics-listener {text}: write PORT or HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def _with_options(
    found: "ConfiguredFlow", sync_acls: bool, options: dict[str, Any]
) -> "ConfiguredFlow":
    """A flow of a file, with options that it has no word for."""
    from dataclasses import replace

    flow = replace(found.flow, sync_acls=sync_acls or found.flow.sync_acls, **options)
    return replace(found, flow=flow)
