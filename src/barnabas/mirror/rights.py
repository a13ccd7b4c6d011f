"""The rights that a flow needs in its two clusters, from its definition.

Expressions for topics and groups become the names or prefixes with which all that they match
begins, since rules know no expressions. Those are optional, as a flow copies what it may see of
the topics that match, and so is everything else that it does without.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from barnabas.client.rights.right import ANY, Right, created_topic, group, topic, transactional_id
from barnabas.coordination.mirror_groups import MIRROR_PREFIX
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.formats.internal_topics import (
    HEARTBEATS_TOPIC,
    checkpoints_topic,
    offset_syncs_topic,
)
from barnabas.mirror.names import remote_topic
from barnabas.wire.acl_codes import CLUSTER_NAME, AclOperation, ResourceType

_LITERAL = re.compile(r"(?:[A-Za-z0-9_-]|\\\.|\.(?![*+?{]))*")
_QUANTIFIER = re.compile(r"[*+?{]")


def source_rights(mirrored: ConfiguredFlow) -> list[Right]:
    """In the cluster that is copied."""
    flow, groups = mirrored.flow, mirrored.groups
    what = f"topics of flow {flow.name}"
    found = []
    for name, prefixed in _covering(flow.topics):
        reading = topic(AclOperation.READ, name, what)._replace(prefixed=prefixed)
        found.append(_optional_if_wide(reading))
        configs = topic(AclOperation.DESCRIBE_CONFIGS, name, f"settings of {what}")
        found.append(configs._replace(prefixed=prefixed, is_optional=True))
    for name, prefixed in _covering(groups.include):
        offsets = group(name, f"offsets of groups of flow {flow.name}", prefixed=prefixed)
        found.append(offsets._replace(operation=AclOperation.DESCRIBE, is_optional=True))
    if flow.names is Names.IDENTITY and not flow.provenance:
        loops = group(MIRROR_PREFIX, "noticing a flow in the other direction", prefixed=True)
        found.append(_optional(loops._replace(operation=AclOperation.DESCRIBE)))
    if groups.emit_heartbeats:
        found += map(_optional, _own_topic(HEARTBEATS_TOPIC, f"heartbeats of flow {flow.name}"))
    if flow.replicate_heartbeats:
        beats = topic(AclOperation.READ, HEARTBEATS_TOPIC, f"heartbeats of flow {flow.name}")
        found.append(_optional(beats))
    backward = offset_syncs_topic(flow.target.name, flow.internal_separator)
    what = "groups that come back, with a flow in the other direction"
    found.append(_optional(topic(AclOperation.READ, backward, what)))
    found += _of_cluster(flow, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    return found


def target_rights(mirrored: ConfiguredFlow) -> list[Right]:
    """In the cluster that is written."""
    flow, groups = mirrored.flow, mirrored.groups
    what = f"topics of flow {flow.name}"
    found: list[Right] = []
    for name, prefixed, used in _covering_copies(flow):
        for each in _own_topic(name, what, reads=True):
            writing = _optional_if_wide(each._replace(prefixed=prefixed, used=used))
            # A topic that can't be created is left out, with a warning, until somebody creates it.
            found.append(_optional(writing) if each.if_missing else writing)
        for operation in (
            AclOperation.ALTER,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
            *([AclOperation.DELETE] if flow.sync_deletes else []),
        ):
            upkeep = topic(operation, name, f"partitions and settings of {what}")
            found.append(upkeep._replace(prefixed=prefixed, used=used, is_optional=True))
    if flow.replicate_heartbeats and flow.names is Names.IDENTITY:
        name = remote_topic(flow, HEARTBEATS_TOPIC)
        found += map(_optional, _own_topic(name, "heartbeats of the source", reads=True))
    for used in (flow.group_id, flow.members_group_id):
        own_groups = group(flow.group_id, f"positions of flow {flow.name}", prefixed=True)
        found.append(own_groups._replace(used=used))
    if flow.names is Names.IDENTITY and not flow.provenance:
        others = group(MIRROR_PREFIX, "noticing flows that write the same topics", prefixed=True)
        found.append(_optional(others._replace(operation=AclOperation.DESCRIBE)))
    ids = flow.transactional_id_prefix
    found.append(transactional_id(ids, f"copies of flow {flow.name}", prefixed=True))
    separator = flow.internal_separator
    found += _own_topic(offset_syncs_topic(flow.source.name, separator), "offset syncs", reads=True)
    if groups.commit:
        for name, prefixed in _covering(groups.include):
            found.append(_optional(group(name, "offsets of mirrored groups", prefixed=prefixed)))
    if groups.emit_checkpoints:
        name = checkpoints_topic(flow.source.name, separator)
        found += map(_optional, _own_topic(name, "checkpoints", reads=True))
    if groups.emit_heartbeats:
        found += map(_optional, _own_topic(HEARTBEATS_TOPIC, "heartbeats", reads=True))
    found += _of_cluster(flow, AclOperation.ALTER, AclOperation.ALTER_CONFIGS)
    return found


def _of_cluster(flow: Flow, acls: AclOperation, quotas: AclOperation) -> Iterator[Right]:
    for is_wanted, operation, what in (
        (flow.sync_acls, acls, "copying ACLs"),
        (flow.sync_quotas, quotas, "copying quotas"),
    ):
        if is_wanted:
            yield Right(operation, ResourceType.CLUSTER, CLUSTER_NAME, what, is_optional=True)


def _own_topic(name: str, what: str, *, reads: bool = False) -> Iterator[Right]:
    if reads:
        yield topic(AclOperation.READ, name, what)
    yield topic(AclOperation.WRITE, name, what)
    yield created_topic(name, what)


def _covering_copies(flow: Flow) -> Sequence[tuple[str, bool, str]]:
    """The topics of the target, by name or prefix; and the topic of a prefix, if it is known."""
    covering = _covering(flow.topics)
    if flow.names is not Names.PREFIX:
        return [(name, prefixed, "") for name, prefixed in covering]
    return list(
        dict.fromkeys(
            (
                remote_topic(flow, ""),
                True,
                "" if prefixed or name == ANY else remote_topic(flow, name),
            )
            for name, prefixed in covering
        )
    )


def _covering(patterns: Iterable[str]) -> Sequence[tuple[str, bool]]:
    """Names, and prefixes, that cover all that expressions match."""
    found = dict.fromkeys(_cover(each) for each in patterns)
    return [(ANY, False)] if ("", True) in found else list(found)


def _cover(pattern: str) -> tuple[str, bool]:
    if "|" in pattern:
        return "", True
    match = _LITERAL.match(pattern)
    literal = "" if match is None else match.group()
    rest = pattern[len(literal) :]
    if _QUANTIFIER.match(rest):
        literal = literal[:-1].removesuffix("\\")  # the last character may be absent
    return literal.replace("\\.", "."), bool(rest)


def _optional_if_wide(right: Right) -> Right:
    return _optional(right) if right.is_wide else right


def _optional(right: Right) -> Right:
    return right._replace(is_optional=True)
