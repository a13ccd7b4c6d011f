"""The commands for what a restore can't do itself, as people would type them."""

import shlex
from collections.abc import Mapping

from barnabas.client.admin.quotas import DEFAULT, QuotaEntity
from barnabas.client.admin.users import SCRAM_MECHANISMS
from barnabas.metadata.acl import Acl
from barnabas.wire.acl_codes import WILDCARD, AclOperation, PatternType, ResourceType

_ACL_OPTIONS = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
    ResourceType.USER: "--user-principal",
}
_QUOTA_OPTIONS = (
    ("--user", "--user-defaults"),
    ("--client-id", "--client-defaults"),
    ("--ip", "--ip-defaults"),
)


def user_command(name: str, wanted: Mapping[str, int], present: Mapping[str, int]) -> str | None:
    """What gives a user the mechanisms that it had; None if it has them."""
    missing = [each for each in wanted if each not in present]
    if not missing:
        return None
    words = ["barnabas", "users", "change" if present else "add", name]
    if present or set(missing) != set(SCRAM_MECHANISMS):
        for each in missing:
            words += ["--mechanism", each]
    return shlex.join(words)


def acl_command(acl: Acl) -> str:
    """What adds a rule."""
    user = acl.principal.removeprefix("User:")
    words = [acl.principal if ":" in user else user]
    words.append(AclOperation(acl.operation).name.lower())
    kind = ResourceType(acl.resource_type)
    words += ["--cluster"] if kind not in _ACL_OPTIONS else [_ACL_OPTIONS[kind], acl.resource_name]
    if acl.pattern_type == PatternType.PREFIXED:
        words.append("--prefixed")
    if acl.host != WILDCARD:
        words += ["--host", acl.host]
    if acl.is_deny:
        words.append("--deny")
    return shlex.join(["barnabas", "acls", "add", *words])


def quota_command(entity: QuotaEntity, limits: Mapping[str, float]) -> str:
    """What sets the quotas of one entity."""
    words = [f"{name}={_number(limit)}" for name, limit in limits.items()]
    for (option, default), name in zip(_QUOTA_OPTIONS, entity, strict=True):
        if name:
            words += [default] if name == DEFAULT else [option, name]
    return shlex.join(["barnabas", "quotas", "set", *words])


def settings_command(kind: str, name: str, settings: Mapping[str, str]) -> str:
    """What gives a topic, group or node settings; those of the empty name are for all nodes."""
    pairs = [f"{key}={value}" for key, value in sorted(settings.items())]
    return shlex.join(["barnabas", "configs", "set", kind, name, *pairs])


def _number(limit: float) -> str:
    return str(int(limit)) if limit == int(limit) else str(limit)
