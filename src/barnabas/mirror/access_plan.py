"""Which ACLs and quotas the target gets: a decision, without I/O.

A rule of the source that applies to a topic becomes a rule of that one topic in the target, also if
it was one of a prefix or of all topics: so it never allows more there than was meant. Where topics
have a prefix, nobody but the mirror should write them, as in Mirror Maker 2: rules that allow Write
are left out, and those that allow All allow Read.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from barnabas.client.admin.quotas import QuotaDescription, QuotaEntity
from barnabas.metadata.acl import Acl
from barnabas.mirror.flow import Flow, Names
from barnabas.wire.acl_codes import (
    WILDCARD,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
)


def copied_acls(flow: Flow, acls: Iterable[Acl], flowing: Mapping[str, str]) -> set[Acl]:
    """The rules of the target; `flowing` are its topics by those of the source."""
    return {
        allowed._replace(resource_name=there, pattern_type=int(PatternType.LITERAL))
        for acl in acls
        if acl.resource_type == ResourceType.TOPIC and (allowed := _allowed(flow, acl)) is not None
        for here, there in flowing.items()
        if _applies(acl, here)
    }


def _allowed(flow: Flow, acl: Acl) -> Acl | None:
    if flow.names is Names.IDENTITY or acl.permission != AclPermission.ALLOW:
        return acl
    if acl.operation == AclOperation.WRITE:
        return None
    if acl.operation == AclOperation.ALL:
        return acl._replace(operation=int(AclOperation.READ))
    return acl


def _applies(acl: Acl, topic: str) -> bool:
    if acl.pattern_type == PatternType.PREFIXED:
        return topic.startswith(acl.resource_name)
    return acl.resource_name in (topic, WILDCARD)


def changed_quotas(
    source: Iterable[QuotaDescription],
    target: Iterable[QuotaDescription],
    copied_before: AbstractSet[tuple[QuotaEntity, str]],
) -> dict[QuotaEntity, dict[str, float | None]]:
    """The limits to set in the target, and to remove (None).

    `copied_before` are entities and keys that this flow has copied: only those are ever removed.
    """
    wanted = {each.entity: each.limits for each in source}
    present = {each.entity: each.limits for each in target}
    changes: dict[QuotaEntity, dict[str, float | None]] = {}
    for entity, limits in wanted.items():
        for key, value in limits.items():
            if present.get(entity, {}).get(key) != value:
                changes.setdefault(entity, {})[key] = value
    for entity, key in copied_before:
        if key in present.get(entity, {}) and key not in wanted.get(entity, {}):
            changes.setdefault(entity, {})[key] = None
    return changes
