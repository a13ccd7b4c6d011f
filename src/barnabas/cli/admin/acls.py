"""`barnabas acls`: who may do what."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from barnabas.cli.admin.acl_output import as_row, as_sentence, in_json
from barnabas.cli.base.command import CommandError, Session, cluster_command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.quantities import counted

if TYPE_CHECKING:
    from barnabas.client.admin.acls import Explanation

app = typer.Typer(no_args_is_help=True, help="List, add, remove and explain access rules.")

UserArgument = Annotated[
    str,
    typer.Argument(metavar="USER", help="User name; * for everybody.", show_default=False),
]
OperationArgument = Annotated[
    str,
    typer.Argument(
        metavar="OPERATION",
        help="read, write, create, delete, alter, describe, all, ...; several with commas.",
        show_default=False,
    ),
]
Topic = Annotated[str | None, typer.Option("--topic", metavar="NAME", help="Topic; * for all.")]
Group = Annotated[str | None, typer.Option("--group", metavar="NAME", help="Group; * for all.")]
TransactionalId = Annotated[
    str | None,
    typer.Option("--transactional-id", metavar="ID", help="Transactional id; * for all."),
]
DelegationToken = Annotated[
    str | None,
    typer.Option("--delegation-token", metavar="ID", help="Delegation token; * for all."),
]
UserPrincipal = Annotated[
    str | None,
    typer.Option("--user-principal", metavar="USER", help="Tokens of a user; * for all users."),
]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
Prefixed = Annotated[
    bool, typer.Option("--prefixed", help="All resources whose name begins like this.")
]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Host of the client.")]
Deny = Annotated[bool, typer.Option("--deny", help="Deny instead of allow.")]


class Resource(NamedTuple):
    """What a rule is about: a code of `ResourceType`, and a name."""

    resource_type: int
    name: str


@app.command("list", epilog="Example: barnabas acls list --user alice")
@cluster_command
async def list_(
    session: Session,
    user: Annotated[str | None, typer.Option("--user", metavar="USER", help="Of one user.")] = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: DelegationToken = None,
    user_principal: UserPrincipal = None,
    cluster: Cluster = False,
) -> None:
    """List access rules: all, or those that concern a user or a resource."""
    from barnabas.client.admin.acls import describe_acls, principal_of
    from barnabas.metadata.acl import AclFilter
    from barnabas.wire.acl_codes import PatternType

    wanted = AclFilter(principal=None if user is None else principal_of(user))
    about = _resource(
        topic, group, transactional_id, delegation_token, user_principal, is_cluster=cluster
    )
    if about is not None:
        wanted = wanted._replace(
            resource_type=about.resource_type,
            resource_name=about.name,
            pattern_type=PatternType.MATCH,
        )
    async with session.connect() as client:
        acls = await describe_acls(client, wanted)
    if session.as_json:
        print_json(list(map(in_json, acls)))
    else:
        header = ("principal", "host", "permission", "operation", "resource", "name", "pattern")
        print_table(header, list(map(as_row, acls)))


@app.command("add", epilog="Example: barnabas acls add alice read,describe --topic orders")
@cluster_command
async def add(
    session: Session,
    user: UserArgument,
    operation: OperationArgument,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: DelegationToken = None,
    user_principal: UserPrincipal = None,
    cluster: Cluster = False,
    prefixed: Prefixed = False,
    host: Host = "*",
    deny: Deny = False,
) -> None:
    """Allow a user an operation, or deny it. A rule that exists stays as it is."""
    from barnabas.client.admin.acls import create_acls, principal_of
    from barnabas.metadata.acl import Acl
    from barnabas.wire.acl_codes import AclPermission, PatternType

    about = _needed(
        _resource(
            topic, group, transactional_id, delegation_token, user_principal, is_cluster=cluster
        )
    )
    acls = [
        Acl(
            about.resource_type,
            about.name,
            PatternType.PREFIXED if prefixed else PatternType.LITERAL,
            principal_of(user),
            host,
            code,
            AclPermission.DENY if deny else AclPermission.ALLOW,
        )
        for code in _operations(operation)
    ]
    async with session.connect() as client:
        await create_acls(client, acls)
    if session.as_json:
        print_json({"added": list(map(in_json, acls))})
    else:
        for acl in acls:
            say(f"added: {as_sentence(acl)}")


@app.command("remove", epilog="Example: barnabas acls remove alice read --topic orders")
@cluster_command
async def remove(
    session: Session,
    user: UserArgument,
    operation: Annotated[
        str,
        typer.Argument(metavar="[OPERATION]", help="Default: every operation.", show_default=False),
    ] = "",
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: DelegationToken = None,
    user_principal: UserPrincipal = None,
    cluster: Cluster = False,
    prefixed: Prefixed = False,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Default: every host.")
    ] = None,
    deny: Annotated[bool, typer.Option("--deny", help="Remove DENY rules only.")] = False,
) -> None:
    """Remove access rules of a user: all, or those of one operation or resource."""
    from barnabas.client.admin.acls import delete_acls, principal_of
    from barnabas.metadata.acl import AclFilter
    from barnabas.wire.acl_codes import AclOperation, AclPermission, PatternType

    wanted = AclFilter(
        principal=principal_of(user),
        host=host,
        permission=AclPermission.DENY if deny else AclPermission.ANY,
    )
    about = _resource(
        topic, group, transactional_id, delegation_token, user_principal, is_cluster=cluster
    )
    if about is not None:
        wanted = wanted._replace(
            resource_type=about.resource_type,
            resource_name=about.name,
            pattern_type=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        )
    codes = _operations(operation) if operation else [AclOperation.ANY]
    filters: list[AclFilter] = [wanted._replace(operation=code) for code in codes]
    async with session.connect() as client:
        acls = await delete_acls(client, filters)
    if session.as_json:
        print_json({"removed": list(map(in_json, acls))})
        return
    if not acls:
        raise CommandError(f"no such rule of {user}; see `barnabas acls list --user {user}`")
    for acl in acls:
        say(f"removed: {as_sentence(acl)}")


@app.command("explain", epilog="Example: barnabas acls explain alice read orders")
@cluster_command
async def explain(
    session: Session,
    user: UserArgument,
    operation: Annotated[
        str, typer.Argument(metavar="OPERATION", help="One operation.", show_default=False)
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="Topic.", show_default=False)
    ] = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: DelegationToken = None,
    user_principal: UserPrincipal = None,
    cluster: Cluster = False,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Host of the client.")
    ] = "127.0.0.1",
) -> None:
    """Say whether a user may do something, which rule decides, and why."""
    from barnabas.client.admin.acls import explain as explained
    from barnabas.client.admin.acls import principal_of
    from barnabas.security.principal import Principal
    from barnabas.wire.acl_codes import AclOperation, ResourceType

    about = _needed(
        _resource(
            name, group, transactional_id, delegation_token, user_principal, is_cluster=cluster
        )
    )
    (code, *others) = _operations(operation)
    if others:
        raise typer.BadParameter("give one operation")
    async with session.connect() as client:
        found = await explained(
            client,
            Principal.parse(principal_of(user)),
            host,
            AclOperation(code),
            ResourceType(about.resource_type),
            about.name,
        )
    if session.as_json:
        decided_by = found.verdict.decided_by
        print_json(
            {
                "allowed": found.verdict.allowed,
                "decided_by": decided_by if isinstance(decided_by, str) else in_json(decided_by),
                "reason": _reason(found),
                "applying": list(map(in_json, found.applying)),
                "concerning": list(map(in_json, found.concerning)),
            }
        )
        return
    print_line(f"{'allowed' if found.verdict.allowed else 'denied'}: {_reason(found)}")
    _print_others(found)


def _reason(found: "Explanation") -> str:
    from barnabas.security.authorizer.standard_authorizer import DEFAULT_ALLOW, SUPER_USER

    decided_by = found.verdict.decided_by
    if decided_by == SUPER_USER:
        return "the user is one of super.users"
    if decided_by == DEFAULT_ALLOW:
        return "no rule is about this resource, and allow.everyone.if.no.acl.found is true"
    if not isinstance(decided_by, str):
        overruled = len(found.applying) - 1
        if decided_by.is_deny and overruled:
            return f"{as_sentence(decided_by)}; a DENY overrules any ALLOW"
        return as_sentence(decided_by)
    if found.concerning:
        rules = counted(len(found.concerning), "rule")
        return f"{rules} about this resource, but none for this user, host and operation"
    reason = "no rule is about this resource"
    if not found.knows_settings:
        reason += "; super.users and allow.everyone.if.no.acl.found may not be seen"
    return reason


def _print_others(found: "Explanation") -> None:
    others = [acl for acl in found.applying if acl != found.verdict.decided_by]
    for acl in others:
        print_line(f"  applies too: {as_sentence(acl)}")
    for acl in found.concerning:
        if acl not in found.applying:
            print_line(f"  does not apply: {as_sentence(acl)}")


def _operations(text: str) -> list[int]:
    from barnabas.client.admin.acls import code_of
    from barnabas.wire.acl_codes import AclOperation

    return [code_of(AclOperation, each.strip(), "operation") for each in text.split(",")]


def _resource(
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    delegation_token: str | None,
    user: str | None,
    *,
    is_cluster: bool,
) -> Resource | None:
    from barnabas.client.admin.acls import principal_of
    from barnabas.wire.acl_codes import CLUSTER_NAME, WILDCARD, ResourceType

    if user is not None and user != WILDCARD:
        user = principal_of(user)
    named = [
        Resource(kind, name)
        for kind, name in (
            (ResourceType.TOPIC, topic),
            (ResourceType.GROUP, group),
            (ResourceType.TRANSACTIONAL_ID, transactional_id),
            (ResourceType.DELEGATION_TOKEN, delegation_token),
            (ResourceType.USER, user),
            (ResourceType.CLUSTER, CLUSTER_NAME if is_cluster else None),
        )
        if name is not None
    ]
    if len(named) > 1:
        raise typer.BadParameter(
            "a command names one resource: a topic, a group, a transactional id, ...; run it once "
            "for each"
        )
    return named[0] if named else None


def _needed(about: Resource | None) -> Resource:
    if about is None:
        raise typer.BadParameter(
            "name a topic, --group, --transactional-id, --delegation-token, --user-principal or "
            "--cluster"
        )
    return about
