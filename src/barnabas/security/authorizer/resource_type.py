"""Whether some resource of a type may be used, whatever its name.

A producer without a transactional id asks for a producer id before it names a topic. It gets one
if there may be a topic to which it may write.
"""

from collections.abc import Iterable

from barnabas.metadata.acl import Acl
from barnabas.wire.acl_codes import WILDCARD, PatternType


def may_use_any(acls: Iterable[Acl]) -> bool:
    """Whether these rules, which apply to the client and its operation, leave a name allowed.

    As in Kafka: a DENY of everything decides; after it, an ALLOW of everything. Otherwise one
    ALLOW has to remain that no DENY covers.
    """
    denied: dict[int, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
    allowed: dict[int, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
    allows_all = False
    for acl in acls:
        is_all = acl.pattern_type == PatternType.LITERAL and acl.resource_name == WILDCARD
        if acl.is_deny:
            if is_all:
                return False
            denied[acl.pattern_type].add(acl.resource_name)
        elif is_all:
            allows_all = True
        else:
            allowed[acl.pattern_type].add(acl.resource_name)
    if allows_all:
        return True
    literals = allowed[PatternType.LITERAL] - denied[PatternType.LITERAL]
    return any(
        not _has_prefix(name, denied[PatternType.PREFIXED])
        for name in literals | allowed[PatternType.PREFIXED]
    )


def _has_prefix(name: str, prefixes: set[str]) -> bool:
    return any(name[:length] in prefixes for length in range(1, len(name) + 1))
