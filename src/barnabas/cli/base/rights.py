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


def show_rights(
    rights: "Sequence[Right]",
    cluster: RightsCluster,
    user: str | None,
    *,
    check: bool,
    as_json: bool,
) -> int:
    """The exit code."""
    from barnabas.client.rights.grants import grant_commands
    from barnabas.client.rights.report import UNKNOWN_USER, described

    grantee = user or str((cluster.security or {}).get("sasl.username") or UNKNOWN_USER)
    if not check:
        if as_json:
            print_json([_in_json(each) for each in rights])
        else:
            for command in grant_commands(rights, grantee):
                print_line(command)
        return exit_codes.OK
    missing = asyncio.run(_missing(rights, cluster, user))
    needed = [each for each in missing if not each.is_optional]
    if as_json:
        print_json({"missing": [_in_json(each) for each in missing]})
    else:
        for each in missing:
            optional = ", optional" if each.is_optional else ""
            say(f"missing{optional}: {described(each)}")
        for command in grant_commands(missing, grantee):
            print_line(command)
        if not missing:
            say(f"{counted(len(rights), 'right')} checked, none is missing")
    return exit_codes.FAILURE if needed else exit_codes.OK


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


def _in_json(right: "Right") -> dict[str, object]:
    return {
        "operation": right.operation.name,
        "resource_type": right.resource_type.name,
        "resource_name": right.name,
        "pattern_type": "PREFIXED" if right.prefixed else "LITERAL",
        "purpose": right.purpose,
        "optional": right.is_optional,
    }
