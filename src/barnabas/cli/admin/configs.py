"""`barnabas configs`: show and change settings of topics, brokers, groups and subscriptions to
client metrics, and levels of loggers."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.admin.setting_names import check_setting_names
from barnabas.cli.base.command import Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.cli.base.pairs import parse_pairs

if TYPE_CHECKING:
    from barnabas.client.admin.configs import ResourceType

app = typer.Typer(
    no_args_is_help=True,
    help="Show and change settings of topics, brokers and loggers.",
)


class Kind(StrEnum):
    """What has configs."""

    TOPIC = "topic"
    BROKER = "broker"
    GROUP = "group"
    BROKER_LOGGER = "broker-logger"
    CLIENT_METRICS = "client-metrics"


_OF_BROKERS = (Kind.BROKER, Kind.BROKER_LOGGER)

KindArgument = Annotated[
    Kind,
    typer.Argument(metavar="topic|broker|group|broker-logger|client-metrics", show_default=False),
]
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Topic, group, subscription, or broker id; '' for all brokers.",
        show_default=False,
    ),
]


def _resource_type(kind: Kind) -> "ResourceType":
    from barnabas.client.admin.configs import ResourceType

    return ResourceType[kind.name]


@app.command("get", epilog="Example: barnabas configs get topic orders --all")
@cluster_command
async def get(
    session: Session,
    kind: KindArgument,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Topic, group, subscription, or broker id. Default: all brokers or subscriptions.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Include settings that have their default.")
    ] = False,
) -> None:
    """Show changed settings, or all."""
    from barnabas.client.admin.configs import describe_configs, list_config_resources

    if kind not in (*_OF_BROKERS, Kind.CLIENT_METRICS) and name is None:
        raise UsageError(f"missing {kind} name; use `barnabas configs get {kind} NAME`")
    async with session.connect() as cluster:
        if name is not None:
            names = [name]
        elif kind is Kind.CLIENT_METRICS:
            names = await list_config_resources(cluster, _resource_type(kind))
        else:
            names = [str(each) for each in sorted(cluster.brokers)]
        described = await describe_configs(cluster, _resource_type(kind), names)
    rows = [
        (resource, entry.name, entry.value, entry.source.name.lower(), entry.read_only)
        for resource, entries in described.items()
        for entry in entries
        if everything or entry.is_own
    ]
    if session.as_json:
        keys = (kind.value, "name", "value", "source", "read_only")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table(
            (kind.value, "name", "value", "source", "changeable"),
            [(*row[:4], "no" if row[4] else "yes") for row in rows],
        )


@app.command("set", epilog="Example: barnabas configs set topic orders retention.ms=3600000")
@cluster_command
async def set_(
    session: Session,
    kind: KindArgument,
    name: NameArgument,
    pairs: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE", help="Settings.", show_default=False)
    ],
) -> None:
    """Change settings; the others keep their values."""
    from barnabas.client.admin.configs import alter_configs

    settings = parse_pairs(pairs, "setting")
    async with session.connect() as cluster:
        await alter_configs(cluster, _resource_type(kind), name, settings=settings)
    _report(session, kind, name, {"set": settings})


@app.command("unset", epilog="Example: barnabas configs unset topic orders retention.ms")
@cluster_command
async def unset(
    session: Session,
    kind: KindArgument,
    name: NameArgument,
    keys: Annotated[
        list[str], typer.Argument(metavar="NAME", help="Settings.", show_default=False)
    ],
) -> None:
    """Put settings back to their defaults."""
    from barnabas.client.admin.configs import alter_configs

    async with session.connect() as cluster:
        await check_setting_names(cluster, _resource_type(kind), name, keys)
        await alter_configs(cluster, _resource_type(kind), name, deletions=keys)
    _report(session, kind, name, {"unset": keys})


def _report(session: Session, kind: Kind, name: str, changes: dict[str, object]) -> None:
    if session.as_json:
        print_json({kind.value: name, **changes})
    else:
        whose = f"{kind.value} {name}" if name else f"all {kind.value}s"
        say(f"changed settings of {whose}")
