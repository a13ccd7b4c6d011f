"""`barnabas topics`: create, list, describe, alter and delete topics."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.admin.setting_names import check_setting_names
from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.completion import complete_topic
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.cli.base.pairs import parse_pairs
from barnabas.quantities import counted

if TYPE_CHECKING:
    from barnabas.client.admin.topics import CreatedTopic

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
    from barnabas.cli.admin.topic_description import is_internal
    from barnabas.diagnosis.denied import hidden_topics

    async with session.connect() as cluster:
        topics = [
            topic
            for _, topic in sorted((await cluster.refresh(None)).items())
            if internal or not is_internal(topic)
        ]
        hidden = {} if topics else await hidden_topics(cluster)
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
    for what, why in hidden.items():
        say(f"not shown [{what}] {why}")


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
) -> int:
    """Show partitions, leaders, replicas, offsets and settings.

    What this user may not see is left out, and named with the right it needs.
    """
    from barnabas.cli.admin.topic_description import (
        describe_topics,
        every_topic,
        named_topics,
        print_topic,
        with_lacking,
    )
    from barnabas.cli.base.topic_names import check_topics

    unknown: dict[str, str] = {}
    async with session.connect(retry_timeout_ms=_PATIENCE_MS) as cluster:
        if names:
            await check_topics(cluster, names)
            topics = await named_topics(cluster, names, unknown)
        else:
            topics = await every_topic(cluster, unknown, internal=under_replicated)
        lacks_one = len(unknown) > 0 and bool(names)
        if under_replicated:
            topics = [each for each in map(with_lacking, topics) if each.partitions]
        described = await describe_topics(cluster, topics, unknown)
    if session.as_json:
        print_json(described)
    else:
        for number, topic in enumerate(described):
            if number:
                print_line()
            print_topic(topic)
    for what, why in unknown.items():
        say(f"not shown [{what}] {why}")
    return exit_codes.FAILURE if lacks_one else exit_codes.OK


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
