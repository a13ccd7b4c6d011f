"""Rights as the `barnabas acls add` commands that grant them."""

import shlex
from collections.abc import Iterable

from barnabas.client.rights.right import Right
from barnabas.wire.acl_codes import ResourceType

_OPTIONS = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}


def by_resource(rights: Iterable[Right]) -> list[list[Right]]:
    """Those about one resource together, each operation once, in the order of the first ones."""
    found: dict[object, dict[int, Right]] = {}
    for each in rights:
        known = found.setdefault(each.resource, {})
        other = known.get(each.operation)
        if other is None or (other.is_optional and not each.is_optional):
            known[each.operation] = each
    return [list(each.values()) for each in found.values()]


def grant_commands(rights: Iterable[Right], user: str) -> list[str]:
    """One command for each resource."""
    return [_command(together, user) for together in by_resource(rights)]


def _command(together: list[Right], user: str) -> str:
    first = together[0]
    operations = ",".join(each.operation.name.lower() for each in together)
    words = ["barnabas", "acls", "add", user, operations]
    if first.resource_type is ResourceType.CLUSTER:
        words.append("--cluster")
    else:
        words += [_OPTIONS[first.resource_type], first.name]
    if first.prefixed:
        words.append("--prefixed")
    return shlex.join(words)
