"""What differs between two samples, in sentences, the newest first."""

from collections import Counter, deque
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple
from urllib.parse import quote

from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.diagnosis.sample import Sample
from barnabas.diagnosis.status import UP, NodeStatus
from barnabas.quantities import counted

KEPT = 200
_SHOWN = 3


class Event(NamedTuple):
    """`severity` is good, info, warning or bad; `link` leads to a page of the console."""

    number: int
    at_ms: int
    severity: str
    what: str
    link: str | None = None


class EventLog:
    """The last events."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._numbers = count(1)

    def add(self, at_ms: int, severity: str, what: str, link: str | None = None) -> None:
        self._events.appendleft(Event(next(self._numbers), at_ms, severity, what, link))

    def newest(self, limit: int) -> list[Event]:
        return list(self._events)[:limit]

    def compare(self, at_ms: int, before: Sample, now: Sample) -> bool:
        """Add what has changed; True if it is about nodes or leaders, so health has changed."""
        matters = self._nodes(at_ms, before, now)
        matters = self._leaders(at_ms, before, now) or matters
        matters = self._in_sync(at_ms, before, now) or matters
        self._topics(at_ms, before, now)
        self._groups(at_ms, before, now)
        return matters

    def compare_nodes(
        self, at_ms: int, before: Iterable[NodeStatus], now: Iterable[NodeStatus]
    ) -> None:
        """Add which nodes are fenced or up again, and who is the controller.

        A node that is back after some seconds has never left the cluster, as samples see it.
        """
        known = {each.node_id: each for each in before}
        for each in now:
            old = known.get(each.node_id)
            if old is None:
                continue
            if each.state != old.state and each.state == UP:
                self.add(at_ms, "good", f"Node {each.node_id} is up again", "/cluster")
            elif each.state != old.state:
                self.add(at_ms, "bad", f"Node {each.node_id} is {each.state}", "/cluster")
            if each.is_controller and not old.is_controller:
                self.add(at_ms, "info", f"Node {each.node_id} is the controller now", "/cluster")

    def _nodes(self, at_ms: int, before: Sample, now: Sample) -> bool:
        lost = sorted(before.addresses.keys() - now.addresses.keys())
        joined = sorted(now.addresses.keys() - before.addresses.keys())
        for node in lost:
            self.add(at_ms, "bad", f"Node {node} has left the cluster", "/cluster")
        for node in joined:
            self.add(at_ms, "good", f"Node {node} has joined the cluster", "/cluster")
        return bool(lost or joined)

    def _leaders(self, at_ms: int, before: Sample, now: Sample) -> bool:
        moved: Counter[tuple[int, int]] = Counter()
        offline, online = [], []
        for name, each in now.partitions.items():
            old = before.partitions.get(name)
            if old is None or old.leader == each.leader:
                continue
            if each.leader == NO_LEADER:
                offline.append(name)
            elif old.leader == NO_LEADER:
                online.append(name)
            else:
                moved[old.leader, each.leader] += 1
        if offline:
            what = f"{_named(offline)} lost the leader"
            self.add(at_ms, "bad", what[0].upper() + what[1:], _topic_link(offline))
        if online:
            what = f"{_named(online)} got a leader again"
            self.add(at_ms, "good", what[0].upper() + what[1:], _topic_link(online))
        for (old_node, new_node), number in sorted(moved.items()):
            what = f"Leadership of {counted(number, 'partition')} moved from node {old_node}"
            self.add(at_ms, "info", f"{what} to node {new_node}", "/cluster")
        return bool(offline or online or moved)

    def _in_sync(self, at_ms: int, before: Sample, now: Sample) -> bool:
        shrunk, whole = [], []
        for name, each in now.partitions.items():
            old = before.partitions.get(name)
            if old is None or len(old.isr) == len(each.isr):
                continue
            if len(each.isr) < len(old.isr):
                shrunk.append(name)
            elif len(each.isr) == len(each.replicas):
                whole.append(name)
        if shrunk:
            what = f"{_named(shrunk)} lost an in-sync replica"
            self.add(at_ms, "warning", what[0].upper() + what[1:], _topic_link(shrunk))
        if whole:
            what = f"All replicas of {_named(whole)} are in sync again"
            self.add(at_ms, "good", what, _topic_link(whole))
        return bool(shrunk or whole)

    def _topics(self, at_ms: int, before: Sample, now: Sample) -> None:
        old = {name.topic for name in before.partitions}
        new = {name.topic for name in now.partitions}
        for verb, topics, linked in (("created", new - old, True), ("deleted", old - new, False)):
            if len(topics) > _SHOWN:
                self.add(at_ms, "info", f"{counted(len(topics), 'topic')} {verb}", "/topics")
                continue
            for each in sorted(topics):
                link = f"/topics/{each}" if linked else None
                self.add(at_ms, "info", f"Topic {each} {verb}", link)

    def _groups(self, at_ms: int, before: Sample, now: Sample) -> None:
        states = {each.members.group_id: each.members.state for each in before.groups}
        for each in now.groups:
            group, state = each.members.group_id, each.members.state
            old = states.get(group)
            if old is None or old == state or state not in ("Empty", "Stable"):
                continue
            if state == "Empty":
                self.add(at_ms, "warning", f"Group {group} has no members left", _group_link(group))
            elif old == "Empty":
                self.add(at_ms, "good", f"Group {group} has members again", _group_link(group))
            else:
                self.add(at_ms, "info", f"Group {group} has rebalanced", _group_link(group))


def _named(partitions: list[TopicPartition]) -> str:
    if len(partitions) == 1:
        return f"partition {partitions[0]}"
    topics = sorted({each.topic for each in partitions})
    more = f" and {len(topics) - _SHOWN} more" if len(topics) > _SHOWN else ""
    return f"{counted(len(partitions), 'partition')} of {', '.join(topics[:_SHOWN])}{more}"


def _topic_link(partitions: list[TopicPartition]) -> str:
    topics = {each.topic for each in partitions}
    return f"/topics/{topics.pop()}" if len(topics) == 1 else "/topics"


def _group_link(group: str) -> str:
    return f"/group?id={quote(group, safe='')}"
