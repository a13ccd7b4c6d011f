"""`barnabas users`: users that sign in with a password (SCRAM)."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommandError, Session, cluster_command
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.cli.base.password import PasswordFile, PasswordText, read_password

if TYPE_CHECKING:
    from barnabas.client.admin.users import UserDescription
    from barnabas.client.connect.cluster_client import ClusterClient

app = typer.Typer(no_args_is_help=True, help="List, add, change and remove users.")

_DEFAULT_ITERATIONS = 16_384

NameArgument = Annotated[str, typer.Argument(metavar="USER", help="User name.", show_default=False)]
Iterations = Annotated[
    int, typer.Option("--iterations", metavar="N", help="SCRAM iterations, 4096 to 16384.")
]


def _mechanisms(default: str) -> object:
    return typer.Option(
        "--mechanism",
        metavar="NAME",
        help=f"SCRAM-SHA-256 or SCRAM-SHA-512; may be repeated. Default: {default}.",
        show_default=False,
    )


@app.command("list", epilog="Example: barnabas users list --json")
@cluster_command
async def list_(session: Session) -> None:
    """List users and how they sign in."""
    from barnabas.client.admin.users import describe_users

    async with session.connect() as cluster:
        users = await describe_users(cluster)
    if session.as_json:
        print_json(
            [
                {"user": user.name, "mechanisms": dict(user.mechanisms)}
                for _, user in sorted(users.items())
            ]
        )
    else:
        print_table(
            ("user", "mechanism", "iterations"),
            [
                (user.name, mechanism, iterations)
                for _, user in sorted(users.items())
                for mechanism, iterations in user.mechanisms.items()
            ],
        )


@app.command("add", epilog="Example: barnabas users add alice")
@cluster_command
async def add(
    session: Session,
    name: NameArgument,
    mechanisms: Annotated[list[str] | None, _mechanisms("both")] = None,
    iterations: Iterations = _DEFAULT_ITERATIONS,
    password_file: PasswordFile = None,
    password: PasswordText = None,
) -> None:
    """Add a user. The password is asked for, or read from standard input."""
    from barnabas.client.admin.users import SCRAM_MECHANISMS, set_password

    chosen = _chosen(mechanisms) or list(SCRAM_MECHANISMS)
    async with session.connect() as cluster:
        if await _find(cluster, name) is not None:
            raise CommandError(f"user {name} exists; use `barnabas users change {name}`")
        secret = read_password(password_file, password)
        await set_password(cluster, name, secret, mechanisms=chosen, iterations=iterations)
    _report(session, "added", name, chosen)


@app.command("change", epilog="Example: barnabas users change alice")
@cluster_command
async def change(
    session: Session,
    name: NameArgument,
    mechanisms: Annotated[list[str] | None, _mechanisms("those the user has")] = None,
    iterations: Iterations = _DEFAULT_ITERATIONS,
    password_file: PasswordFile = None,
    password: PasswordText = None,
) -> None:
    """Give a user another password, or another mechanism. Open connections stay open."""
    from barnabas.client.admin.users import set_password

    async with session.connect() as cluster:
        chosen = _chosen(mechanisms) or list((await _existing(cluster, name)).mechanisms)
        secret = read_password(password_file, password)
        await set_password(cluster, name, secret, mechanisms=chosen, iterations=iterations)
    _report(session, "changed", name, chosen)


@app.command("remove", epilog="Example: barnabas users remove alice")
@cluster_command
async def remove(
    session: Session,
    name: NameArgument,
    mechanisms: Annotated[list[str] | None, _mechanisms("all")] = None,
) -> None:
    """Remove a user. Open connections stay open until they have to sign in again."""
    from barnabas.client.admin.users import remove_credentials

    async with session.connect() as cluster:
        chosen = _chosen(mechanisms) or list((await _existing(cluster, name)).mechanisms)
        await remove_credentials(cluster, name, chosen)
    _report(session, "removed", name, chosen)


def _chosen(mechanisms: list[str] | None) -> list[str]:
    return [each.upper() for each in mechanisms or ()]


async def _find(cluster: "ClusterClient", name: str) -> "UserDescription | None":
    from barnabas.client.admin.users import describe_users

    return (await describe_users(cluster, [name])).get(name)


async def _existing(cluster: "ClusterClient", name: str) -> "UserDescription":
    found = await _find(cluster, name)
    if found is None:
        raise CommandError(f"there is no user {name}; see `barnabas users list`")
    return found


def _report(session: Session, what: str, name: str, mechanisms: list[str]) -> None:
    if session.as_json:
        print_json({"user": name, what: mechanisms})
    else:
        say(f"{what} user {name} ({', '.join(mechanisms)})")
