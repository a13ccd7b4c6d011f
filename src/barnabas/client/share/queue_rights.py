"""The rights that workers of a queue, and those who put jobs, need on a secured cluster."""

from collections.abc import Sequence

from barnabas.client.delays.delayed_rights import mover_rights, sender_rights
from barnabas.client.results.results_topic import results_topic
from barnabas.client.rights.right import Right, created_topic, group, topic
from barnabas.wire.acl_codes import AclOperation, ResourceType

_SETTINGS = (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)


def worker_rights(
    name: str,
    group_id: str,
    *,
    dead_letters: str | None,
    delays: bool,
    results: bool,
    results_of: Sequence[str] = (),
) -> list[Right]:
    """Of those who take jobs, which may continue jobs of the topics `results_of`."""
    who = f"workers of {group_id}"
    found = [topic(AclOperation.READ, name, who), group(group_id, who)]
    if dead_letters is not None:
        what = f"dead letters of {who}"
        found += [topic(AclOperation.WRITE, dead_letters, what), created_topic(dead_letters, what)]
        settings = topic(AclOperation.DESCRIBE_CONFIGS, name, f"settings of {dead_letters}")
        found.append(_optional(settings))
    for source in dict.fromkeys((*((name,) if results else ()), *results_of)):
        written = topic(AclOperation.WRITE, results_topic(source), f"results of {who}")
        found.append(_optional(written))
    if delays:
        found += mover_rights(name)
    what = f"settings of the share group {group_id}"
    return found + [
        Right(operation, ResourceType.GROUP, group_id, what, is_optional=True)
        for operation in _SETTINGS
    ]


def submitter_rights(name: str, *, delays: bool, results: bool) -> list[Right]:
    """Of those who put jobs, and wait for their results."""
    found = [topic(AclOperation.WRITE, name, "jobs")]
    if delays:
        found += sender_rights(name)
    if results:
        what = f"results of {name}"
        found += [topic(AclOperation.READ, results_topic(name), what)]
        found += [created_topic(results_topic(name), what)]
    if results and not delays:
        found.append(
            topic(AclOperation.DESCRIBE_CONFIGS, name, f"settings of {results_topic(name)}")
        )
    return found


def _optional(right: Right) -> Right:
    return right._replace(is_optional=True)
