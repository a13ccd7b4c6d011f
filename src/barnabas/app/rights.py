"""The rights that an application needs, from what its handlers declare."""

from collections.abc import Iterable, Iterator

from barnabas.app.handler import Handler
from barnabas.app.schedules.schedule import Schedule, schedules_topic
from barnabas.client.delays.delayed_rights import mover_rights, sender_rights
from barnabas.client.results.results_topic import results_topic
from barnabas.client.rights.right import Right, created_topic, group, topic, transactional_id
from barnabas.wire.acl_codes import AclOperation, ResourceType


def rights_of(
    handlers: Iterable[Handler], sends: Iterable[str] = (), schedules: Iterable[Schedule] = ()
) -> list[Right]:
    """Those of all handlers and schedules, and to write the topics that are sent to elsewhere."""
    found = [each for handler in handlers for each in _rights_of(handler)]
    found += dict.fromkeys(each for one in schedules for each in _rights_of_schedule(one))
    found += [topic(AclOperation.WRITE, name, "app.send") for name in sends]
    return found


def delay_rights_of(handlers: Iterable[Handler], sends: Iterable[str] = ()) -> list[Right]:
    """To move delayed records of topics that are handled, and to send some to other topics.

    Most topics have none. So an application starts without these, and logs what it lacks when there
    are some.
    """
    moved = dict.fromkeys(name for handler in handlers for name in handler.topics)
    found = [each for name in moved for each in mover_rights(name)]
    return found + [each for name in sends for each in sender_rights(name)]


def _rights_of_schedule(schedule: Schedule) -> Iterator[Right]:
    yield topic(AclOperation.WRITE, schedule.produces, f"schedule {schedule.name}")
    name, what = schedules_topic(schedule.group), f"schedules of {schedule.group}"
    for operation in (AclOperation.READ, AclOperation.WRITE):
        yield topic(operation, name, what)
    yield created_topic(name, what)
    yield group(name, what)
    yield transactional_id(name, what)


def _rights_of(handler: Handler) -> Iterator[Right]:
    who = f"handler {handler.name}"
    for name in handler.topics:
        yield topic(AclOperation.READ, name, who)
    if handler.group is not None:
        yield group(handler.group, who)
    for source in handler.topics:
        for name in handler.policy.topics_of(source):
            what = f"retries of {who}"
            yield topic(AclOperation.READ, name, what)
            yield topic(AclOperation.WRITE, name, what)
            yield created_topic(name, what)
    if handler.policy.topics:
        yield group(handler.retry_group, f"retries of {who}")
    if handler.produces is not None:
        yield topic(AclOperation.WRITE, handler.produces, f"results of {who}")
    if handler.dead_letters is not None:
        what = f"dead letters of {who}"
        yield topic(AclOperation.WRITE, handler.dead_letters, what)
        yield created_topic(handler.dead_letters, what)
    if handler.state is not None:
        what = f"state of {who}"
        yield topic(AclOperation.READ, handler.changelog, what)
        yield topic(AclOperation.WRITE, handler.changelog, what)
        yield created_topic(handler.changelog, what)
    yield from _settings_of_sources(handler, who)
    if handler.exactly_once:
        yield transactional_id(handler.transactional_id_prefix, who, prefixed=True)
    if handler.share:
        own = handler.topics if handler.produces is None else ()
        for name in dict.fromkeys((*own, *handler.results_of)):
            what = f"results of {who} for submitters"
            right = topic(AclOperation.WRITE, results_topic(name), what)
            yield right._replace(is_optional=True)
        what = f"settings of the share group of {who}"
        for operation in (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS):
            yield Right(operation, ResourceType.GROUP, handler.group_name, what, is_optional=True)


def _settings_of_sources(handler: Handler, who: str) -> Iterator[Right]:
    """Topics that the handler creates are as safe as those that it reads."""
    if handler.dead_letters is None and not handler.policy.topics and handler.state is None:
        return
    for name in handler.topics:
        what = f"settings of new topics of {who}"
        yield topic(AclOperation.DESCRIBE_CONFIGS, name, what)._replace(is_optional=True)
