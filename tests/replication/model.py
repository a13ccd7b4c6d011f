"""A partition with several replicas and a controller, without I/O: anything may happen at any time.

Nodes learn late what the controller decides, fetches and answers are delayed, reordered, repeated
and lost, old leaders go on leading, nodes restart, some without the end of their log. What a leader
calls committed is noted; every leader must have it.
"""

from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeVar

from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.replication import (
    EpochEnd,
    IsrChange,
    LeaderState,
    OutOfRange,
    divergence,
    follower_high_watermark,
    truncation_offset,
)

LAG_MS = 100
T = TypeVar("T")
Record = tuple[int, int]
"""Leader epoch and value."""


@dataclass(frozen=True)
class State:
    """What is agreed."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0


@dataclass(frozen=True)
class Fetch:
    follower: int
    leader: int
    broker_epoch: int
    leader_epoch: int
    offset: int
    last_epoch: int


@dataclass(frozen=True)
class Answer:
    to: Fetch
    diverging: EpochEnd | None
    records: tuple[Record, ...]
    high_watermark: int


class Violation(AssertionError):
    """A committed record is lost or changed."""


@dataclass
class Node:
    id: int
    known: State
    broker_epoch: int
    records: list[Record] = field(default_factory=list)
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    high_watermark: int = 0
    leading: LeaderState | None = None

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset_for(epoch, len(self.records))

    @property
    def last_epoch(self) -> int:
        return self.records[-1][0] if self.records else -1

    def append(self, record: Record) -> None:
        self.epochs.assign(record[0], len(self.records))
        self.records.append(record)

    def truncate_to(self, offset: int) -> None:
        del self.records[offset:]
        self.epochs.truncate_from(len(self.records))
        self.high_watermark = min(self.high_watermark, offset)


class Model:
    """Subclasses break a rule each, to show that this would be noticed."""

    def __init__(self, seed: int, nodes: int = 3) -> None:
        self.random = Random(seed)
        ids = tuple(range(1, nodes + 1))
        self.state = State(ids, ids, leader=1)
        self.broker_epochs = dict.fromkeys(ids, 1)
        self.nodes = {
            number: Node(number, replace(self.state, leader_epoch=-1), 1) for number in ids
        }
        self.fetches: list[Fetch] = []
        self.answers: list[Answer] = []
        self.proposals: list[tuple[int, IsrChange]] = []
        self.refusals: list[tuple[int, IsrChange]] = []
        self.committed: list[Record] = []
        self.now_ms = 0
        self.value = 0
        self.elections = 0

    # -- nodes -------------------------------------------------------------------------------------

    def learn(self, node: Node) -> None:
        state = self.state
        leadership_changed = state.leader_epoch != node.known.leader_epoch
        node.known = state
        if leadership_changed:
            if node.leading is not None:
                node.epochs.truncate_from(len(node.records))
            node.leading = None
            if state.leader == node.id:
                self.begin_to_lead(node)
        if node.leading is not None:
            node.leading.assigned(state.replicas, state.isr, state.partition_epoch, self.now_ms)
            self.advance(node)

    def begin_to_lead(self, node: Node) -> None:
        node.epochs.assign(node.known.leader_epoch, len(node.records))
        node.leading = LeaderState(
            node.id, node.known.leader_epoch, len(node.records), LAG_MS, self.broker_epochs.get
        )

    def advance(self, node: Node) -> None:
        assert node.leading is not None
        end = len(node.records)
        committed = node.leading.high_watermark(end, end, self.now_ms)
        node.high_watermark = max(node.high_watermark, committed)
        self.check_committed(node)

    def produce(self, node: Node) -> None:
        if node.leading is None:
            return
        self.value += 1
        if node.leading.any_at_end:
            node.leading.end_moves(len(node.records), self.now_ms)
        node.append((node.known.leader_epoch, self.value))
        self.advance(node)

    def fetch(self, node: Node) -> None:
        known = node.known
        if node.leading is None and known.leader not in (-1, node.id):
            self.fetches.append(
                Fetch(
                    node.id,
                    known.leader,
                    node.broker_epoch,
                    known.leader_epoch,
                    len(node.records),
                    node.last_epoch,
                )
            )

    def handle_fetch(self, fetch: Fetch) -> None:
        node = self.nodes[fetch.leader]
        leading = node.leading
        if leading is None or node.known.leader_epoch != fetch.leader_epoch:
            return
        try:
            diverging = divergence(node.end_offset_for, fetch.last_epoch, fetch.offset, 0)
        except OutOfRange:
            raise Violation("a follower knows an epoch that its leader does not") from None
        records: tuple[Record, ...] = ()
        end = len(node.records)
        if diverging is None:
            if not leading.fetched(
                fetch.follower, fetch.broker_epoch, fetch.offset, 0, end, self.now_ms
            ):
                return
            self.advance(node)
            records = tuple(node.records[fetch.offset : fetch.offset + self.random.randint(1, 3)])
        self.answers.append(Answer(fetch, diverging, records, node.high_watermark))

    def handle_answer(self, answer: Answer) -> None:
        fetch = answer.to
        node = self.nodes[fetch.follower]
        if (
            node.leading is not None
            or node.broker_epoch != fetch.broker_epoch
            or node.known.leader_epoch != fetch.leader_epoch
            or len(node.records) != fetch.offset
            # A node has one fetch under way for each leader, so no answer to an earlier one, with
            # other records of the same number, can reach it.
            or node.last_epoch != fetch.last_epoch
        ):
            return
        if answer.diverging is not None:
            end = len(node.records)
            node.truncate_to(truncation_offset(node.end_offset_for, end, answer.diverging))
            return
        for record in answer.records:
            node.append(record)
        node.high_watermark = follower_high_watermark(
            node.high_watermark, answer.high_watermark, len(node.records)
        )
        self.check_committed(node)

    def restart(self, node: Node, *, keeps: int) -> None:
        """The controller hears of it at once; the node begins with what is on its disk."""
        lost_tail = keeps < len(node.records)
        others = [member for member in self.state.isr if member != node.id]
        if lost_tail and not others and node.id in self.state.isr:
            return  # the partition would be offline, until an operator gives up what was lost
        self.broker_epochs[node.id] += 1
        node.broker_epoch = self.broker_epochs[node.id]
        node.leading = None
        node.truncate_to(keeps)
        node.known = replace(node.known, leader_epoch=-1, leader=-1)
        if node.id in self.state.isr and others and (lost_tail or self.random.random() < 0.5):
            self.fence(node)
        elif self.state.leader == node.id:
            self.elect(node.id)  # a new life begins a new epoch

    def propose(self, node: Node) -> None:
        leading = node.leading
        if leading is None:
            return
        change = leading.propose(node.high_watermark, len(node.records), self.now_ms)
        if change is not None:
            self.proposals.append((node.id, change))
        elif leading.pending is not None and self.random.random() < 0.3:
            self.proposals.append((node.id, leading.pending))  # its answer was lost, perhaps

    # -- the controller ----------------------------------------------------------------------------

    def elect(self, leader: int) -> None:
        self.elections += 1
        self.state = replace(
            self.state,
            leader=leader,
            leader_epoch=self.state.leader_epoch + 1,
            partition_epoch=self.state.partition_epoch + 1,
        )

    def electable(self) -> list[int]:
        return list(self.state.isr)

    def fence(self, node: Node) -> None:
        isr = tuple(member for member in self.state.isr if member != node.id)
        if not isr:
            return
        self.state = replace(self.state, isr=isr, partition_epoch=self.state.partition_epoch + 1)
        if self.state.leader == node.id:
            self.elect(self.random.choice(self.electable()))

    def handle_proposal(self, node_id: int, change: IsrChange) -> None:
        state = self.state
        if (change.leader_epoch, change.partition_epoch) != (
            state.leader_epoch,
            state.partition_epoch,
        ):
            return
        if any(self.broker_epochs[m.node_id] != m.broker_epoch != -1 for m in change.isr):
            self.refusals.append((node_id, change))
            return
        isr = tuple(member.node_id for member in change.isr)
        self.state = replace(state, isr=isr, partition_epoch=state.partition_epoch + 1)

    # -- checks ------------------------------------------------------------------------------------

    def check_committed(self, node: Node) -> None:
        """What is called committed is the same for all, for ever."""
        mine = node.records[: node.high_watermark]
        common = min(len(mine), len(self.committed))
        if mine[:common] != self.committed[:common]:
            raise Violation(f"node {node.id} calls committed what others do not")
        if node.leading is not None:
            self.committed += mine[common:]

    def check_leader(self) -> None:
        leader = self.nodes[self.state.leader]
        if leader.records[: len(self.committed)] != self.committed:
            raise Violation(f"node {leader.id} was elected and lacks what is committed")

    # -- a run -------------------------------------------------------------------------------------

    def step(self) -> None:
        random = self.random
        node = self.nodes[random.choice(list(self.nodes))]
        self.now_ms += random.choice((0, 1, 5, 40))
        act = random.choices(*ACTS)[0]
        getattr(self, act)(node)
        self.check_leader()

    def answer_fetch(self, _: Node) -> None:
        for fetch in self._some(self.fetches):
            self.handle_fetch(fetch)

    def take_answer(self, _: Node) -> None:
        for answer in self._some(self.answers):
            self.handle_answer(answer)

    def decide_proposal(self, _: Node) -> None:
        for node_id, change in self._some(self.proposals):
            self.handle_proposal(node_id, change)

    def take_refusal(self, _: Node) -> None:
        for node_id, change in self._some(self.refusals):
            leading = self.nodes[node_id].leading
            if leading is not None:
                leading.refused(change)

    def elect_somebody(self, _: Node) -> None:
        self.elect(self.random.choice(self.electable()))

    def crash(self, node: Node) -> None:
        keeps = len(node.records)
        if self.random.random() < 0.3:
            keeps -= self.random.randint(0, min(3, keeps))
        self.restart(node, keeps=keeps)

    def _some(self, messages: list[T]) -> list[T]:
        """One of them, which may come again later, or be lost."""
        if not messages:
            return []
        number = self.random.randrange(len(messages))
        fate = self.random.random()
        message = messages[number]
        if fate < 0.9:
            del messages[number]
        return [] if 0.8 < fate < 0.9 else [message]

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def settle(self) -> None:
        """Faults stop: all nodes learn, fetch and are heard until nothing moves."""
        for node in self.nodes.values():
            self.learn(node)
        for _ in range(400):
            self.now_ms += 1
            for node in self.nodes.values():
                self.fetches.clear()
                self.fetch(node)
                for fetch in tuple(self.fetches):
                    self.handle_fetch(fetch)
                for answer in tuple(self.answers):
                    self.handle_answer(answer)
                self.answers.clear()
                leading = node.leading
                if leading is not None:
                    for node_id, change in self.refusals:
                        if node_id == node.id:
                            leading.refused(change)
                    self.refusals.clear()
                    pending = (
                        leading.propose(node.high_watermark, len(node.records), self.now_ms)
                        or leading.pending
                    )
                    if pending is not None:
                        self.handle_proposal(node.id, pending)
                self.learn(node)
            self.check_leader()


ACTS = (
    [
        "produce",
        "fetch",
        "answer_fetch",
        "take_answer",
        "learn",
        "propose",
        "decide_proposal",
        "take_refusal",
        "elect_somebody",
        "crash",
    ],
    [8, 8, 10, 8, 4, 2, 2, 2, 1, 1],
)
