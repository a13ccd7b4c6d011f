"""The error of a program that lacks rights: what each is for, and the commands that grant them."""

from collections.abc import Sequence

from barnabas.client.rights.grants import by_resource, grant_commands
from barnabas.client.rights.right import Right
from barnabas.errors import NotAuthorized
from barnabas.quantities import counted
from barnabas.wire.acl_codes import ResourceType
from barnabas.wire.errors import ErrorCode

UNKNOWN_USER = "USER"
_CODES = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


def rights_error(missing: Sequence[Right], who: str, user: str) -> NotAuthorized:
    """`who` is the program, such as "application orders"."""
    count = sum(map(len, by_resource(missing)))
    named = "" if user == UNKNOWN_USER else f" (user {user})"
    lines = [f"{who}{named} lacks {counted(count, 'right')}; an administrator grants them with:"]
    lines += [f"  {command}" for command in grant_commands(missing, user)]
    code = _CODES.get(missing[0].resource_type, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return NotAuthorized(code, "\n".join(lines))


def described(right: Right) -> str:
    """`write on topic orders-dead (dead letters of handler bill)`."""
    kind = right.resource_type.name.lower().replace("_", " ")
    name = right.used or (f"{right.name}*" if right.prefixed else right.name)
    return f"{right.operation.name.lower()} on {kind} {name} ({right.purpose})"
