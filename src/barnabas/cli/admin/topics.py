"""`barnabas topics`: create, list, describe, alter and delete topics."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.admin.setting_names import check_setting_names
from barnabas.cli.base.command import CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.completion import complete_topic
from barnabas.cli.base.output import Cell, print_json, print_line, print_table, say
from barnabas.cli.base.pairs import parse_pairs
from barnabas.quantities import counted, human_size

if TYPE_CHECKING:
    from barnabas.client.admin.topics import CreatedTopic
    from barnabas.client.connect.cluster_client import ClusterClient
    from barnabas.client.connect.cluster_metadata import (
        PartitionMetadata,
        TopicMetadata,
        TopicPartition,
    )

app = typer.Typer(no_args_is_help=True, help="Create, list, describe, alter and delete topics.")

_MAX_PARTITIONS = (1 << 31) - 1  # what the protocol can say
_MAX_REPLICATION_FACTOR = (1 << 15) - 1
_PATIENCE_MS = 5_000

NewName = Annotated[str, typer.Argument(metavar="NAME", help="Topic.", show_default=False)]
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Topic.", show_default=False, autocompletion=complete_topic
    ),
]
Names = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME", help="Topics.", show_default=False, autocompletion=complete_topic
    ),
]


@app.command(
    "create",
    epilog="Example: barnabas topics create orders --partitions 3 --config retention.ms=-1",
)
@cluster_command
async def create(
    session: Session,
    name: NewName,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            "-p",
            metavar="N",
            min=1,
            max=_MAX_PARTITIONS,
            help="Number of partitions. Default: the broker's num.partitions.",
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            "-r",
            metavar="N",
            min=1,
            max=_MAX_REPLICATION_FACTOR,
            help="Replicas of each partition. Default: the broker's default.replication.factor.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config", "-c", metavar="NAME=VALUE", help="Topic setting; may be repeated."
        ),
    ] = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Succeed if the topic exists.")
    ] = False,
) -> None:
    """Create a topic."""
    from barnabas.client.admin.topics import BROKER_DEFAULT, create_topic
    from barnabas.errors import TopicExists

    configs = parse_pairs(config or [], "--config")
    created = None
    async with session.connect() as cluster:
        try:
            created = await create_topic(
                cluster,
                name,
                partitions=partitions or BROKER_DEFAULT,
                replication_factor=replication_factor or BROKER_DEFAULT,
                configs=configs,
            )
        except TopicExists as error:
            if not if_not_exists:
                raise CommandError(
                    f"topic {name} already exists; use --if-not-exists to ignore this"
                ) from error
    if session.as_json:
        print_json({"topic": name, "created": created is not None})
    else:
        say(f"created topic {name}" if created else f"topic {name} already exists")
    if created is not None:
        _warn_of_too_few_replicas(created)


def _warn_of_too_few_replicas(created: "CreatedTopic") -> None:
    needed = int(created.configs.get("min.insync.replicas") or 0)
    if 0 < created.replication_factor < needed:
        say(
            "warning: brokers will refuse writes with acks=all: min.insync.replicas is "
            f"{needed}, the topic has {counted(created.replication_factor, 'replica')}"
        )


@app.command("list", epilog="Example: barnabas topics list --json")
@cluster_command
async def list_(
    session: Session,
    internal: Annotated[bool, typer.Option("--internal", help="Include internal topics.")] = False,
) -> None:
    """List topics."""
    async with session.connect() as cluster:
        topics = [
            topic
            for _, topic in sorted((await cluster.refresh(None)).items())
            if internal or not _is_internal(topic)
        ]
    rows = [
        (
            topic.name,
            len(topic.partitions),
            max((len(each.replicas) for each in topic.partitions), default=0),
        )
        for topic in topics
    ]
    if session.as_json:
        keys = ("topic", "partitions", "replication_factor")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table(("topic", "partitions", "replicas"), rows)


@app.command("describe", epilog="Example: barnabas topics describe orders")
@cluster_command
async def describe(
    session: Session,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Topics. Default: all except internal ones.",
            autocompletion=complete_topic,
        ),
    ] = None,
    under_replicated: Annotated[
        bool,
        typer.Option(
            "--under-replicated",
            help="Show only under-replicated partitions, also of internal topics.",
        ),
    ] = False,
) -> None:
    """Show partitions, leaders, replicas, offsets and settings."""
    from barnabas.cli.base.topic_names import check_topics

    async with session.connect(retry_timeout_ms=_PATIENCE_MS) as cluster:
        if names:
            await check_topics(cluster, names)
            topics = list((await cluster.topics(names)).values())
        else:
            everything = sorted((await cluster.refresh(None)).values())
            topics = [topic for topic in everything if under_replicated or not _is_internal(topic)]
        if under_replicated:
            lacking = [topic._replace(partitions=_lacking(topic)) for topic in topics]
            topics = [topic for topic in lacking if topic.partitions]
        described = await _describe(cluster, topics)
    if session.as_json:
        print_json(described)
        return
    for number, topic in enumerate(described):
        if number:
            print_line()
        _print_topic(topic)


async def _describe(
    cluster: "ClusterClient", topics: "list[TopicMetadata]"
) -> list[dict[str, object]]:
    from barnabas.client.admin.configs import ResourceType, describe_configs
    from barnabas.client.admin.replicas import eligible_leaders
    from barnabas.client.admin.topics import log_sizes
    from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition

    partitions = [
        TopicPartition(topic.name, each.partition)
        for topic in topics
        for each in topic.partitions
        if each.leader != NO_LEADER
    ]
    offsets = await _offsets(cluster, partitions)
    sizes = await log_sizes(cluster)
    eligible = await eligible_leaders(cluster, [topic.name for topic in topics])
    configs = await describe_configs(cluster, ResourceType.TOPIC, [topic.name for topic in topics])
    described: list[dict[str, object]] = []
    for topic in topics:
        rows = []
        for each in topic.partitions:
            name = TopicPartition(topic.name, each.partition)
            start, end = offsets.get(name, (None, None))
            elr, last_known_elr = eligible.get(name, ([], []))
            rows.append(
                {
                    "partition": each.partition,
                    "leader": None if each.leader == NO_LEADER else each.leader,
                    "replicas": each.replicas,
                    "isr": each.isr,
                    "elr": elr,
                    "last_known_elr": last_known_elr,
                    "under_replicated": len(each.isr) < len(each.replicas),
                    "start_offset": start,
                    "end_offset": end,
                    "size_bytes": sizes.get(name),
                }
            )
        own = {entry.name: entry.value for entry in configs[topic.name] if entry.is_own}
        described.append(
            {
                "topic": topic.name,
                "internal": _is_internal(topic),
                "partitions": rows,
                "configs": own,
            }
        )
    return described


async def _offsets(
    cluster: "ClusterClient", partitions: "list[TopicPartition]"
) -> "dict[TopicPartition, tuple[int, int]]":
    """Start and end offsets; partitions with an unreachable leader are left out."""
    from barnabas.client.offsets.list_offsets import beginning_and_end
    from barnabas.errors import BarnabasError

    found: dict[TopicPartition, tuple[int, int]] = {}
    for led in (await cluster.by_leader(partitions)).values():
        try:
            found |= await beginning_and_end(cluster, led)
        except BarnabasError as error:
            if not error.retriable:
                raise
            say(f"warning: {error}")
    return found


def _print_topic(topic: dict[str, object]) -> None:
    partitions, configs = topic["partitions"], topic["configs"]
    assert isinstance(partitions, list)
    assert isinstance(configs, dict)
    settings = ", ".join(f"{name}={value}" for name, value in configs.items())
    print_line(
        f"topic {topic['topic']}: {counted(len(partitions), 'partition')}, "
        f"configs: {settings or 'default'}"
    )
    columns = ["partition", "leader", "replicas", "isr", "start", "end", "size"]
    rows: list[list[Cell]] = [
        [
            row["partition"],
            row["leader"],
            ",".join(map(str, row["replicas"])),
            ",".join(map(str, row["isr"])),
            row["start_offset"],
            row["end_offset"],
            None if row["size_bytes"] is None else human_size(row["size_bytes"]),
        ]
        for row in partitions
    ]
    if any(row["elr"] for row in partitions):
        columns.insert(4, "elr")
        for line, row in zip(rows, partitions, strict=True):
            line.insert(4, ",".join(map(str, row["elr"])))
    remarks = [_remark(row) for row in partitions]
    if any(remarks):
        columns.append("remark")
        rows = [[*row, remark] for row, remark in zip(rows, remarks, strict=True)]
    print_table(columns, rows)


def _remark(partition: dict[str, object]) -> str:
    if partition["leader"] is None:
        return "no leader"
    return "under-replicated" if partition["under_replicated"] else ""


def _lacking(topic: "TopicMetadata") -> "list[PartitionMetadata]":
    return [each for each in topic.partitions if len(each.isr) < len(each.replicas)]


@app.command("delete", epilog="Example: barnabas topics delete orders invoices")
@cluster_command
async def delete(session: Session, names: Names) -> None:
    """Delete topics and everything in them."""
    from barnabas.client.admin.topics import delete_topics

    async with session.connect() as cluster:
        results = await delete_topics(cluster, names)
    failures = [error for error in results.values() if error is not None]
    if session.as_json:
        print_json(
            [
                {"topic": name, "deleted": error is None, "error": error and error.code.name}
                for name, error in results.items()
            ]
        )
    for name, error in results.items():
        if error is None and not session.as_json:
            say(f"deleted topic {name}")
    if failures:
        raise CommandError("; ".join(str(error) for error in failures))


@app.command("alter", epilog="Example: barnabas topics alter orders --partitions 6")
@cluster_command
async def alter(
    session: Session,
    name: Name,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            "-p",
            metavar="N",
            min=1,
            max=_MAX_PARTITIONS,
            help="New number of partitions, more than now.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config", "-c", metavar="NAME=VALUE", help="Topic setting; may be repeated."
        ),
    ] = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option(
            "--delete-config",
            metavar="NAME",
            help="Setting to put back to its default; may be repeated.",
        ),
    ] = None,
) -> None:
    """Add partitions to a topic, or change its configs."""
    from barnabas.client.admin.configs import ResourceType, alter_configs
    from barnabas.client.admin.topics import create_partitions

    settings = parse_pairs(config or [], "--config")
    if partitions is None and not settings and not delete_config:
        raise UsageError("nothing to alter: give --partitions, --config or --delete-config")
    async with session.connect() as cluster:
        if delete_config:
            await check_setting_names(cluster, ResourceType.TOPIC, name, delete_config)
        if settings or delete_config:
            await alter_configs(
                cluster,
                ResourceType.TOPIC,
                name,
                settings=settings,
                deletions=delete_config or (),
            )
        if partitions is not None:
            await create_partitions(cluster, name, partitions)
    if session.as_json:
        print_json({"topic": name, "altered": True})
    else:
        say(f"altered topic {name}")
    if partitions is not None:
        say(
            f"note: keys are hashed to {partitions} partitions from now on. New records of a key "
            "may go to another partition than its earlier ones, and be read before them"
        )


def _is_internal(topic: "TopicMetadata") -> bool:
    return topic.is_internal or topic.name.startswith("__")
