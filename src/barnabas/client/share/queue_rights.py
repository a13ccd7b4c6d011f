"""The rights that workers of a queue, and those who put jobs, need on a secured cluster."""

from collections.abc import Iterator

from barnabas.client.delays.delayed_topic import delayed_topic
from barnabas.client.results.results_topic import results_topic
from barnabas.client.rights.right import Right, created_topic, group, topic, transactional_id
from barnabas.wire.acl_codes import AclOperation, ResourceType

_SETTINGS = (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)


def worker_rights(
    name: str, group_id: str, *, dead_letters: str | None, delays: bool, results: bool
) -> list[Right]:
    """Of those who take jobs."""
    who = f"workers of {group_id}"
    found = [topic(AclOperation.READ, name, who), group(group_id, who)]
    if dead_letters is not None:
        what = f"dead letters of {who}"
        found += [topic(AclOperation.WRITE, dead_letters, what), created_topic(dead_letters, what)]
    if results:
        found.append(_optional(topic(AclOperation.WRITE, results_topic(name), f"results of {who}")))
    if delays:
        found += _mover_rights(name)
    what = f"settings of the share group {group_id}"
    return found + [
        Right(operation, ResourceType.GROUP, group_id, what, is_optional=True)
        for operation in _SETTINGS
    ]


def submitter_rights(name: str, *, delays: bool, results: bool) -> list[Right]:
    """Of those who put jobs, and wait for their results."""
    found = [topic(AclOperation.WRITE, name, "jobs")]
    if delays:
        what = f"jobs for later of {name}"
        found += [topic(AclOperation.WRITE, delayed_topic(name), what)]
        found += [created_topic(delayed_topic(name), what)]
    if results:
        what = f"results of {name}"
        found += [topic(AclOperation.READ, results_topic(name), what)]
        found += [created_topic(results_topic(name), what)]
    if delays or results:
        found.append(topic(AclOperation.DESCRIBE_CONFIGS, name, "settings of the topics beside it"))
    return found


def _mover_rights(name: str) -> Iterator[Right]:
    delayed, what = delayed_topic(name), f"moving jobs of {name} when they are due"
    yield topic(AclOperation.READ, delayed, what)
    yield topic(AclOperation.WRITE, delayed, what)
    yield topic(AclOperation.WRITE, name, what)
    yield group(delayed, what)
    yield transactional_id(delayed, what, prefixed=True)
    yield _optional(topic(AclOperation.DELETE, delayed, f"freeing the disk after {what}"))


def _optional(right: Right) -> Right:
    return right._replace(is_optional=True)
