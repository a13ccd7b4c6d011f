"""What the data directory of one node has of its cluster, and the cluster rebuilt from it."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from barnabas.broker.offline.sole_survivor import Survival
from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import Cell, print_json, print_line, print_table, say
from barnabas.quantities import counted

if TYPE_CHECKING:
    from barnabas.broker.offline.surviving_node import SurvivingNode

_REMARKS = {
    Survival.COMPLETE: "has all acknowledged records",
    Survival.PARTIAL: "was not in sync: what only the others had is lost",
    Survival.LOST: "no log here: lost",
}


def recover_data(data: Path, *, apply: bool, yes: bool, as_json: bool) -> None:
    """Show what a data directory has, and rebuild the cluster from it with `apply`."""
    from barnabas.broker.offline.surviving_node import open_surviving_node
    from barnabas.log.errors import DirectoryLocked, DirectoryMismatch, StorageError

    try:
        node = open_surviving_node(str(data.absolute()))
    except DirectoryLocked as error:
        raise CommandError(f"{error}; stop that server first") from error
    except (DirectoryMismatch, StorageError) as error:
        raise CommandError(str(error)) from error
    try:
        before = node.data.cluster_id
        if not as_json:
            _print_found(node)
        if apply:
            if not yes:
                _confirm(node)
            kept = node.rebuild()
        if as_json:
            print_json({**_as_json(node, before), "rebuilt": apply})
        elif apply:
            _say_rebuilt(node, kept)
        else:
            _say_next(node, data)
    except StorageError as error:
        raise CommandError(str(error)) from error
    finally:
        node.data.close()


def _print_found(node: "SurvivingNode") -> None:
    metadata = node.metadata
    voters = ", ".join(str(voter.key.node_id) for voter in metadata.voters.voters)
    print_line(
        f"node {node.data.node_id} of cluster {node.data.cluster_id}: metadata up to offset "
        f"{metadata.end_offset} in epoch {metadata.epoch}, voters {voters or 'unknown'}"
    )
    rows: list[list[Cell]] = []
    for topic, partition, survival in node.partitions:
        extent = node.extents.get((topic.topic_id, partition.index))
        rows.append(
            [
                f"{topic.name}-{partition.index}",
                ",".join(map(str, partition.replicas)),
                ",".join(map(str, partition.isr)) or "-",
                extent.start_offset if extent else None,
                extent.end_offset if extent else None,
                extent.latest_epoch if extent else None,
                _REMARKS[survival],
            ]
        )
    print_table(("partition", "replicas", "in sync", "start", "end", "epoch", ""), rows)
    counts = Counter(survival for _, _, survival in node.partitions)
    say(
        f"{counted(len(node.partitions), 'partition')}: {counts[Survival.COMPLETE]} complete, "
        f"{counts[Survival.PARTIAL]} that may lack records, {counts[Survival.LOST]} lost"
    )
    if node.unknown:
        say(f"not in this metadata, and left alone: {', '.join(node.unknown)}")


def _say_next(node: "SurvivingNode", data: Path) -> None:
    if node.is_sole_voter:
        say("nothing was changed; this node is the only voter, and starts without the others")
    else:
        say(
            "nothing was changed; if the other voters have lost their data for good: "
            f"barnabas cluster recover --data {data} --apply"
        )


def _confirm(node: "SurvivingNode") -> None:
    others = [
        str(voter.key.node_id)
        for voter in node.metadata.voters.voters
        if voter.key.node_id != node.data.node_id
    ]
    named = f" of nodes {', '.join(others)}" if others else ""
    typer.confirm(
        f"The cluster will continue from this directory alone. The data{named} can't be used "
        "afterwards. Continue?",
        abort=True,
        err=True,
    )


def _say_rebuilt(node: "SurvivingNode", kept: str) -> None:
    say(
        f"node {node.data.node_id} is the only voter of cluster {node.data.cluster_id}, and leads "
        f"what it has\nthe metadata as it was: {kept}\n"
        "1. start this node as before\n"
        "2. start the other nodes with empty data directories: they join, vote and are filled again"
    )
    if any(survival is Survival.LOST for _, _, survival in node.partitions):
        say("3. for partitions that are lost: barnabas cluster recover")


def _as_json(node: "SurvivingNode", before: str) -> dict[str, object]:
    metadata = node.metadata
    partitions = []
    for topic, partition, survival in node.partitions:
        extent = node.extents.get((topic.topic_id, partition.index))
        partitions.append(
            {
                "topic": topic.name,
                "partition": partition.index,
                "replicas": partition.replicas,
                "in_sync": partition.isr,
                "start_offset": extent.start_offset if extent else None,
                "end_offset": extent.end_offset if extent else None,
                "epoch": extent.latest_epoch if extent else None,
                "survival": survival.value,
            }
        )
    return {
        "node": node.data.node_id,
        "cluster_id_before": before,
        "cluster_id": node.data.cluster_id,
        "voters": [voter.key.node_id for voter in metadata.voters.voters],
        "metadata_end_offset": metadata.end_offset,
        "metadata_epoch": metadata.epoch,
        "partitions": partitions,
        "unknown_directories": node.unknown,
    }
