"""Prints the rights that a program declares, or checks them: for commands named `rights`."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CLIENT_ID, WaitingNotice
from barnabas.cli.base.output import print_json, print_line, say
from barnabas.quantities import counted

if TYPE_CHECKING:
    from barnabas.client.rights.right import Right

RightsUser = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="USER",
        help="User to grant the rights to. Default: sasl.username of the settings.",
        show_default=False,
    ),
]
RightsCheck = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Check the rights of the user who is signed in, or with --user by the rules; exit "
        "with 1 if one is missing.",
    ),
]


@dataclass(frozen=True)
class RightsCluster:
    """Where the rights are checked, and with which settings."""

    bootstrap: Any
    security: Mapping[str, Any] | None
    name: str | None = None
    """What tells it from the other cluster of a program that has two."""


def show_rights(
    rights: "Sequence[Right]",
    cluster: RightsCluster,
    user: str | None,
    *,
    check: bool,
    as_json: bool,
) -> int:
    """The exit code."""
    return show_rights_in([(cluster, rights)], user, check=check, as_json=as_json)


def show_rights_in(
    rights: "Sequence[tuple[RightsCluster, Sequence[Right]]]",
    user: str | None,
    *,
    check: bool,
    as_json: bool,
) -> int:
    """The same for a program that uses several clusters."""
    if not check:
        if as_json:
            print_json(
                [_in_json(each, cluster) for cluster, some in rights for each in _rules(some)]
            )
        else:
            for cluster, some in rights:
                _print_commands(some, cluster, user)
        return exit_codes.OK
    found = [(cluster, asyncio.run(_missing(some, cluster, user))) for cluster, some in rights]
    missing = [(cluster, each) for cluster, some in found for each in some]
    if as_json:
        rules = [(cluster, each) for cluster, some in found for each in _rules(some)]
        print_json({"missing": [_in_json(each, cluster) for cluster, each in rules]})
    else:
        _print_missing(found, user)
        if not missing:
            count = sum(len(some) for _, some in rights)
            say(f"{counted(count, 'right')} checked, none is missing")
    needed = [each for _, each in missing if not each.is_optional]
    return exit_codes.FAILURE if needed else exit_codes.OK


def _rules(rights: "Sequence[Right]") -> "Sequence[Right]":
    """Each rule once, by however many names it was checked."""
    return list(dict.fromkeys(each._replace(used="") for each in rights))


def _print_missing(
    found: "Sequence[tuple[RightsCluster, Sequence[Right]]]", user: str | None
) -> None:
    from barnabas.client.rights.report import described

    for cluster, some in found:
        where = f" in {cluster.name}" if cluster.name else ""
        for each in some:
            optional = ", optional" if each.is_optional else ""
            say(f"missing{where}{optional}: {described(each)}")
    for cluster, some in found:
        if some:
            _print_commands(some, cluster, user)


def _print_commands(rights: "Sequence[Right]", cluster: RightsCluster, user: str | None) -> None:
    from barnabas.client.rights.grants import grant_commands
    from barnabas.client.rights.report import UNKNOWN_USER

    grantee = user or str((cluster.security or {}).get("sasl.username") or UNKNOWN_USER)
    if cluster.name:
        print_line(f"# in {cluster.name}, {cluster.bootstrap}:")
    for command in grant_commands(rights, grantee):
        print_line(command)


async def _missing(
    rights: "Sequence[Right]", cluster: RightsCluster, user: str | None
) -> "list[Right]":
    from barnabas.client.connect.cluster_client import ClusterClient
    from barnabas.client.connect.security_settings import security_settings
    from barnabas.client.rights.probe import missing_rights
    from barnabas.client.rights.rules import missing_rights_of

    client = ClusterClient(
        cluster.bootstrap,
        client_id=CLIENT_ID,
        on_retry=WaitingNotice(),
        security=security_settings(cluster.security),
    )
    async with client:
        if user is None:
            return await missing_rights(client, rights)
        return await missing_rights_of(client, user, rights)


def _in_json(right: "Right", cluster: RightsCluster) -> dict[str, object]:
    return {
        **({"cluster": cluster.name} if cluster.name else {}),
        "operation": right.operation.name,
        "resource_type": right.resource_type.name,
        "resource_name": right.name,
        "pattern_type": "PREFIXED" if right.prefixed else "LITERAL",
        "purpose": right.purpose,
        "optional": right.is_optional,
    }
