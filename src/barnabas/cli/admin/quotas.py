"""`barnabas quotas`: how much clients may do."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.base.command import CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.cli.base.pairs import parse_pairs

if TYPE_CHECKING:
    from barnabas.client.admin.quotas import QuotaDescription, QuotaEntity

app = typer.Typer(no_args_is_help=True, help="List, set and remove quotas.")

_KEYS = (
    "producer_byte_rate, consumer_byte_rate, request_percentage or controller_mutation_rate; "
    "connection_creation_rate for addresses"
)


def _name(option: str, metavar: str, what: str) -> Any:
    return typer.Option(option, metavar=metavar, help=what, show_default=False)


User = Annotated[str | None, _name("--user", "NAME", "User.")]
ClientId = Annotated[str | None, _name("--client-id", "ID", "Client id.")]
Ip = Annotated[str | None, _name("--ip", "ADDRESS", "IP address.")]
UserDefaults = Annotated[
    bool, typer.Option("--user-defaults", help="All users without a quota of their own.")
]
ClientDefaults = Annotated[
    bool, typer.Option("--client-defaults", help="All client ids without a quota of their own.")
]
IpDefaults = Annotated[
    bool, typer.Option("--ip-defaults", help="All addresses without a quota of their own.")
]


@app.command("list", epilog="Example: barnabas quotas list --user alice")
@cluster_command
async def list_(
    session: Session,
    user: User = None,
    client_id: ClientId = None,
    ip: Ip = None,
    user_defaults: UserDefaults = False,
    client_defaults: ClientDefaults = False,
    ip_defaults: IpDefaults = False,
) -> None:
    """List quotas: all, or those of a user, a client id or an address."""
    from barnabas.client.admin.quotas import describe_quotas

    entity = _entity((user, user_defaults), (client_id, client_defaults), (ip, ip_defaults))
    async with session.connect() as cluster:
        quotas = await describe_quotas(cluster, entity)
    if session.as_json:
        print_json([_as_json(quota) for quota in quotas])
    else:
        print_table(
            ("user", "client id", "address", "quota", "limit"),
            [
                (
                    *(name or "" for name in quota.entity),
                    key,
                    f"{value:g}" if value % 1 else int(value),
                )
                for quota in quotas
                for key, value in sorted(quota.limits.items())
            ],
        )


@app.command(
    "set",
    epilog="Example: barnabas quotas set producer_byte_rate=1048576 --user alice --client-defaults",
)
@cluster_command
async def set_(
    session: Session,
    limits: Annotated[
        list[str],
        typer.Argument(metavar="QUOTA=LIMIT...", help=f"{_KEYS}.", show_default=False),
    ],
    user: User = None,
    client_id: ClientId = None,
    ip: Ip = None,
    user_defaults: UserDefaults = False,
    client_defaults: ClientDefaults = False,
    ip_defaults: IpDefaults = False,
) -> None:
    """Set quotas of a user, a client id, a client id of a user, or an address."""
    from barnabas.client.admin.quotas import alter_quotas

    entity = _entity((user, user_defaults), (client_id, client_defaults), (ip, ip_defaults))
    values = {name: _number(name, text) for name, text in parse_pairs(limits, "quota").items()}
    async with session.connect() as cluster:
        await alter_quotas(cluster, entity, values)
    if session.as_json:
        print_json({**_names(entity), "set": values})
    else:
        say(f"set {', '.join(values)} of {entity}")


@app.command("remove", epilog="Example: barnabas quotas remove --user alice")
@cluster_command
async def remove(
    session: Session,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUOTA...]", help="Default: all of them.", show_default=False),
    ] = None,
    user: User = None,
    client_id: ClientId = None,
    ip: Ip = None,
    user_defaults: UserDefaults = False,
    client_defaults: ClientDefaults = False,
    ip_defaults: IpDefaults = False,
) -> None:
    """Remove quotas of a user, a client id, a client id of a user, or an address."""
    from barnabas.client.admin.quotas import alter_quotas, describe_quotas

    entity = _entity((user, user_defaults), (client_id, client_defaults), (ip, ip_defaults))
    async with session.connect() as cluster:
        found = [each for each in await describe_quotas(cluster, entity) if each.entity == entity]
        there = sorted(found[0].limits) if found else []
        missing = [key for key in keys or () if key not in there]
        if missing or not there:
            what = f"no {missing[0]}" if missing else "no quota"
            raise CommandError(f"there is {what} of {entity}; see `barnabas quotas list`")
        removed = keys or there
        await alter_quotas(cluster, entity, dict.fromkeys(removed))
    if session.as_json:
        print_json({**_names(entity), "removed": removed})
    else:
        say(f"removed {', '.join(removed)} of {entity}")


def _entity(*given: tuple[str | None, bool]) -> "QuotaEntity":
    from barnabas.client.admin.quotas import DEFAULT, QuotaEntity

    if any(name and is_default for name, is_default in given):
        raise UsageError("give a name, or the option for the defaults, not both")
    return QuotaEntity(*(DEFAULT if is_default else name for name, is_default in given))


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{name}={text}: expected a number") from None


def _names(entity: "QuotaEntity") -> dict[str, str]:
    return {kind: name for kind, name in entity._asdict().items() if name}


def _as_json(quota: "QuotaDescription") -> dict[str, object]:
    return {**_names(quota.entity), "limits": dict(quota.limits)}
