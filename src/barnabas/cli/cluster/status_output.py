"""What `barnabas cluster status` prints, once or again and again."""

import asyncio
import sys
from typing import NoReturn

from barnabas.cli.base.command import Session
from barnabas.cli.base.output import Cell, print_json, print_line, print_table, say
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.diagnosis.status import (
    CONNECT_TIMEOUT_MS,
    REQUEST_TIMEOUT_MS,
    RETRY_TIMEOUT_MS,
    ClusterStatus,
    collect,
)
from barnabas.errors import BarnabasError

_SHOWN = 20


def connect_briefly(session: Session) -> ClusterClient:
    """The cluster, with short timeouts: the status does not wait for a recovery."""
    return session.connect(
        retry_timeout_ms=RETRY_TIMEOUT_MS,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        connect_timeout_ms=CONNECT_TIMEOUT_MS,
    )


async def watch_status(session: Session, interval: float) -> NoReturn:
    """Print the status until Ctrl-C; an unreachable cluster is waited for."""
    while True:
        try:
            async with connect_briefly(session) as cluster:
                while True:
                    found = await collect(cluster)
                    if not session.as_json and sys.stdout.isatty():
                        sys.stdout.write("\x1b[H\x1b[2J")
                    print_status(found, as_json=session.as_json)
                    if not session.as_json and not sys.stdout.isatty():
                        print_line()
                    sys.stdout.flush()
                    await asyncio.sleep(interval)
        except BarnabasError as error:
            say(f"still waiting: {error}")
            await asyncio.sleep(interval)


def print_status(status: ClusterStatus, *, as_json: bool) -> None:
    """Print it for people, or for scripts."""
    if as_json:
        print_json(_as_json(status))
        return
    print_line(f"cluster {status.cluster_id}: {_verdict(status)}")
    print_table(
        ("node", "address", "rack", "state", "role", "leaders", "replicas"),
        [
            (
                node.node_id,
                node.address,
                node.rack,
                node.state,
                f"{node.role}, controller" if node.is_controller else node.role,
                node.leaders,
                node.replicas,
            )
            for node in status.nodes
        ],
    )
    if status.quorum is not None:
        quorum = status.quorum
        print_line()
        print_line(
            f"quorum: led by node {quorum.leader_id} in epoch {quorum.epoch}, "
            f"committed up to {quorum.high_watermark}"
        )
        print_table(
            ("voter", "lag", "behind"),
            [
                (
                    voter.node_id,
                    voter.lag,
                    "empty directory"
                    if voter.has_lost_disk
                    else None
                    if voter.behind_ms is None
                    else f"{voter.behind_ms} ms",
                )
                for voter in quorum.voters
            ],
        )
    print_line()
    print_line(
        f"partitions: {len(status.partitions)}, under-replicated {len(status.under_replicated)}, "
        f"below min.insync.replicas {len(status.below_min_isr)}, "
        f"not available {len(status.offline)}, moving {len(status.moving)}"
    )
    _print_partitions(status)
    for what, why in status.unknown.items():
        print_line(f"not checked [{what}] {why}")


def _verdict(status: ClusterStatus) -> str:
    if not status.is_healthy:
        return "; ".join(status.problems)
    return "healthy, as far as this user may see" if status.unknown else "healthy"


def _print_partitions(status: ClusterStatus) -> None:
    rows: list[tuple[Cell, ...]] = []
    lacking = {*status.under_replicated, *status.below_min_isr, *status.offline}
    for name in sorted(
        lacking | status.moving.keys(), key=lambda each: (each.topic.startswith("__"), each)
    ):
        each = status.partitions.get(name)
        if each is None:  # it is about to move, and was made after the rest was asked for
            continue
        rows.append(
            (
                str(name),
                None if each.leader < 0 else each.leader,
                _ids(each.replicas),
                _ids(each.isr),
                ", ".join(_what_is_wrong(status, name)),
            )
        )
    if rows:
        print_table(("partition", "leader", "replicas", "isr", "remark"), rows[:_SHOWN])
    if len(rows) > _SHOWN:
        print_line(f"... and {len(rows) - _SHOWN} more")


def _what_is_wrong(status: ClusterStatus, name: TopicPartition) -> list[str]:
    what = []
    if name in status.offline:
        no_leader = status.partitions[name].leader == NO_LEADER
        what.append("no leader" if no_leader else "leader unreachable")
    if name in status.below_min_isr:
        what.append(f"below min.insync.replicas={status.below_min_isr[name]}")
    elif name in status.under_replicated:
        what.append("under-replicated")
    if name in status.moving:
        move = status.moving[name]
        what.append(f"moving to {_ids(move.adding) or '-'} from {_ids(move.removing) or '-'}")
    return what


def _ids(nodes: list[int]) -> str:
    return ",".join(map(str, nodes))


def _as_json(status: ClusterStatus) -> dict[str, object]:
    def names(partitions: object) -> list[list[object]]:
        assert isinstance(partitions, dict | list)
        return [[each.topic, each.partition] for each in sorted(partitions)]

    quorum = status.quorum
    return {
        "cluster_id": status.cluster_id,
        "healthy": status.is_healthy,
        "problems": status.problems,
        "not_checked": status.unknown,
        "nodes": [
            {
                "node": node.node_id,
                "address": node.address,
                "rack": node.rack,
                "state": node.state,
                "role": node.role,
                "controller": node.is_controller,
                "leaders": node.leaders,
                "replicas": node.replicas,
            }
            for node in status.nodes
        ],
        "quorum": None
        if quorum is None
        else {
            "leader": quorum.leader_id,
            "epoch": quorum.epoch,
            "high_watermark": quorum.high_watermark,
            "voters": [
                {
                    "node": voter.node_id,
                    "lag": voter.lag,
                    "behind_ms": voter.behind_ms,
                    "has_lost_disk": voter.has_lost_disk,
                }
                for voter in quorum.voters
            ],
        },
        "partitions": {
            "total": len(status.partitions),
            "under_replicated": names(status.under_replicated),
            "below_min_isr": names(status.below_min_isr),
            "offline": names(status.offline),
            "moving": names(status.moving),
        },
    }
