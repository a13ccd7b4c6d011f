"""Subscriptions by regular expressions: which topics they match, and when to look again.

A member's pattern is checked when it subscribes. Which topics it matches takes longer, so that is
resolved beside the event loop's other work (`RegexJob`), and becomes part of the group by a
decision of its own. It is resolved again when topics change, though at most every ten seconds, and
every ten minutes, since the rights of users may have changed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.consumer.member import ConsumerMember
from barnabas.groups.consumer.state import ResolvedRegex
from barnabas.groups.modern.refusal import RefusedHeartbeat
from barnabas.groups.modern.target import update_epoch
from barnabas.regex import InvalidPattern, LinearPattern
from barnabas.wire.errors import ErrorCode

_REFRESH_MIN_INTERVAL_MS = 10_000
_STEPS_PER_SLICE = 2_000
"""Names times states of a pattern: some milliseconds, or a tenth of a second at worst."""


@dataclass(slots=True)
class RegexJob:
    """Finds the topics that the patterns of a group match."""

    group_id: str
    patterns: tuple[str, ...]
    version: int
    """Of the topics among which it looks."""
    found: dict[str, frozenset[str]] = field(default_factory=dict)

    def run(self, names: Iterable[str], may_describe: Callable[[str], bool]) -> Iterator[None]:
        """Look at all names, and pause now and then."""
        names = [name for name in names if may_describe(name)]
        yield
        for text in self.patterns:
            pattern = LinearPattern(text)
            topics: list[str] = []
            at_once = max(1, _STEPS_PER_SLICE // pattern.size)
            for start in range(0, len(names), at_once):
                topics += filter(pattern.matches, names[start : start + at_once])
                yield
            self.found[text] = frozenset(topics)


def check_regex(group: ConsumerGroup, regex: str | None) -> None:
    """Raises `RefusedHeartbeat`."""
    if not regex or regex in group.pending.regex_subscribers:
        return
    try:
        LinearPattern(regex)
    except InvalidPattern as error:
        raise RefusedHeartbeat(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex is not a valid regular expression: {error}",
        ) from None


def regex_changed(
    group: ConsumerGroup,
    before: ConsumerMember,
    member: ConsumerMember,
    decision: CoordinatorDecision,
) -> bool:
    """A member has another pattern; returns whether its topics have changed by that already."""
    former, now = before.subscribed_topic_regex, member.subscribed_topic_regex
    if former and former in group.pending.regexes and not group.pending.regex_subscribers[former]:
        group.propose(decision, group.regex_tombstone(former))
    return not now or now in group.pending.regexes


def is_unresolved(group: ConsumerGroup) -> bool:
    return any(regex not in group.pending.regexes for regex in group.pending.regex_subscribers)


def next_job(group: ConsumerGroup, now_ms: int) -> RegexJob | None:
    """What has to be resolved now, unless that is going on already."""
    regexes = tuple(group.pending.regex_subscribers)
    if not regexes or group.is_resolving:
        return None
    since_ms = now_ms - group.resolved_ms
    version = group.topics.version
    is_due = (
        is_unresolved(group)
        or (version != group.resolved_version and since_ms >= _REFRESH_MIN_INTERVAL_MS)
        or since_ms >= group.config.consumer.regex_refresh_interval_ms
    )
    if not is_due:
        return None
    group.is_resolving = True
    return RegexJob(group.group_id, regexes, version)


def resolved(
    group: ConsumerGroup, job: RegexJob, decision: CoordinatorDecision, now_ms: int
) -> None:
    """The job is done: members get the topics that it has found."""
    group.is_resolving = False
    group.resolved_version = job.version
    group.resolved_ms = now_ms
    changed = False
    for regex, topics in job.found.items():
        before = group.pending.regexes.get(regex)
        is_same = before is not None and before.topics == topics
        if group.pending.regex_subscribers[regex] and not is_same:
            group.propose(
                decision, group.regex_record(regex, ResolvedRegex(topics, job.version, now_ms))
            )
            changed = True
    if changed:
        update_epoch(group, decision, bump=True)
