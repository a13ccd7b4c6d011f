"""A transactional id among live and fenced producers, a slow and failing log, and restarts.

Several instances of one producer, some of which others have replaced, send requests, right or
wrong, again or never hear the answer. The log is slow, fails, and loses what is not committed;
coordinators fall and others go on from the log; markers are late, lost, doubled, and still come
from coordinators that have fallen. What may never happen is in `history` and in the checks here:

- a transaction ends one way, and its markers say the same, in all of its partitions;
- a commit that was answered holds all that was answered to be part of it;
- who is fenced changes nothing;
- what is decided is finished in the end.
"""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.transactions import MarkersToWrite, TopicPartition, TransactionConfig
from barnabas.transactions.image import NO_PRODUCER_ID, TransactionImage
from barnabas.transactions.records import decode_image, encode_image, transaction_record
from barnabas.transactions.state import TxnState
from barnabas.wire.errors import ErrorCode
from tests.support.tier import examples
from tests.transactions.history import History
from tests.transactions.shell import BUMPED, CLASSIC, ID, T0, T1, TIMEOUT_MS, U0, Identity, Shell

CONFIG = TransactionConfig(transactional_id_expiration_ms=5 * TIMEOUT_MS)
RETRY_MS = CONFIG.persist_retry_ms
NO_IDENTITY: Identity = (-1, -1)

instances = st.integers(0, 2)
partitions = st.sets(st.sampled_from([T0, T1, U0]), min_size=1, max_size=2)


@dataclass
class Instance:
    """A process that has the transactional id, or believes so."""

    identity: Identity = NO_IDENTITY
    bumps: bool = False
    is_fenced: bool = False
    """Whether another instance has been told that the id is its own."""
    added: set[TopicPartition] = field(default_factory=set)
    """What is part of the transaction that it believes to have, as it has been told."""


class TransactionMachine(RuleBasedStateMachine):
    @initialize(
        epoch=st.sampled_from([0, 32_763, 32_765, 32_766]),
        generations=st.tuples(*[st.booleans()] * 3),
    )
    def start(self, epoch: int, generations: tuple[bool, ...]) -> None:
        first = TransactionImage(7, epoch, TIMEOUT_MS, TxnState.EMPTY, 1_000)
        self.shell = Shell(CONFIG, [transaction_record(ID, first)]).start()
        self.shell.persists_at_once = self.shell.marks_at_once = False
        self.history = History()
        self.history.start(first)
        self.instances = [Instance(bumps=bumps) for bumps in generations]
        self.instances[0].identity = (7, epoch)
        self.coordinator = 1
        self.sent: list[tuple[int, MarkersToWrite, TopicPartition]] = []
        """Markers that partitions may get, now or late; they stay, so they may come twice."""
        self.has_producer_ids = True
        self.next_producer_id = 1_000
        self.shell.new_producer_id = self.new_producer_id

    def new_producer_id(self) -> int | None:
        if not self.has_producer_ids:
            return None
        self.next_producer_id += 1
        return self.next_producer_id

    # -- producers ------------------------------------------------------------------------------

    @rule(
        who=instances,
        goes_on=st.booleans(),
        hears=st.booleans(),
        keeps=st.booleans(),
        waits=st.booleans(),
    )
    def init(
        self, who: int, goes_on: bool, hears: bool, keeps: bool = False, waits: bool = False
    ) -> None:
        """A process starts, or goes on after an error. What goes on may be kept."""
        instance = self.instances[who]
        expected = instance.identity if goes_on else NO_IDENTITY
        is_new = expected == NO_IDENTITY or self.history.image is None  # when it has expired
        token = self.ask(
            instance,
            lambda: self.shell.init(expected, keep=keeps, waits=waits),
            may_change=is_new,
        )
        if token is None or self.shell.error(token) is not ErrorCode.NONE:
            return
        if is_new:
            for other in self.instances:
                other.is_fenced = True
            instance.is_fenced = False
        else:
            assert not instance.is_fenced
        if hears:
            instance.identity = self.shell.identity(token)
            instance.added = set(self.history.ongoing)
            is_kept = self.shell.kept(token) != NO_IDENTITY
            assert is_kept == bool(instance.added) == (keeps and bool(instance.added))
        elif is_new:
            instance.is_fenced = True  # that process never learns who it is

    @rule(who=instances, these=partitions)
    def add(self, who: int, these: set[TopicPartition]) -> None:
        instance = self.instances[who]
        version = 4 if instance.bumps else 3
        token = self.ask(
            instance, lambda: self.shell.add(instance.identity, *these, version=version)
        )
        if token is not None and self.shell.error(token) is ErrorCode.NONE:
            assert not instance.is_fenced
            assert these <= self.history.ongoing
            assert self.history.image is not None
            assert not self.history.image.is_kept
            instance.added |= these

    @rule(who=instances)
    def add_offsets(self, who: int) -> None:
        instance = self.instances[who]
        token = self.ask(instance, lambda: self.shell.add_offsets(instance.identity))
        if token is not None and self.shell.error(token) is ErrorCode.NONE:
            assert not instance.is_fenced

    @rule(who=instances, these=partitions)
    def verify(self, who: int, these: set[TopicPartition]) -> None:
        instance = self.instances[who]
        token = self.shell.verify(instance.identity, *these)
        for partition, error in self.shell.errors(token).items():
            if error is ErrorCode.NONE:
                assert not instance.is_fenced
                assert partition in self.history.ongoing

    @rule(who=instances, committed=st.booleans(), hears=st.booleans())
    def end(self, who: int, committed: bool, hears: bool) -> None:
        instance = self.instances[who]
        version = BUMPED if instance.bumps else CLASSIC
        identity = instance.identity
        token = self.ask(instance, lambda: self.shell.end(identity, committed, version=version))
        if token is None or self.shell.error(token) is not ErrorCode.NONE:
            return
        last = self.history.last_end
        assert last is not None
        assert last.committed == committed
        assert not instance.is_fenced
        if committed:
            assert instance.added <= last.partitions, "torn"
        if hears:
            instance.added = set()
            if instance.bumps:
                instance.identity = self.shell.identity(token)
                assert instance.identity != identity, "a late write could join the next one"

    @rule(who=instances, these=partitions, committed=st.booleans(), restarts=st.booleans())
    def transact(
        self, who: int, these: set[TopicPartition], committed: bool, restarts: bool
    ) -> None:
        """A whole transaction, as long as nothing goes wrong."""
        if restarts:
            self.init(who=who, goes_on=False, hears=True)
            if self.instances[who].is_fenced:  # because a transaction went on
                self.markers_arrive()
                self.init(who=who, goes_on=False, hears=True)
        self.add(who=who, these=these)
        self.end(who=who, committed=committed, hears=True)

    def ask(self, instance, request, *, may_change: bool = False) -> int | None:  # type: ignore[no-untyped-def]
        """Have it decided, and persisted if the disk works; None if the answer is not there yet."""
        before = len(self.shell.in_flight)
        token: int = request()
        if instance.is_fenced and not may_change:
            assert len(self.shell.in_flight) == before, "a fenced producer changes something"
        if token not in self.shell.answers and self.disk_works:
            self.persist_all()
        return token if token in self.shell.answers else None

    # -- the world ------------------------------------------------------------------------------

    disk_works = True

    @rule(works=st.booleans())
    def disk(self, works: bool) -> None:
        self.disk_works = works

    @rule(at_hand=st.booleans())
    def producer_ids(self, at_hand: bool) -> None:
        self.has_producer_ids = at_hand

    @precondition(lambda self: self.shell.in_flight)
    @rule()
    def persist_all(self) -> None:
        while self.shell.in_flight:
            self.persist_next()

    @precondition(lambda self: self.shell.in_flight)
    @rule()
    def persist_next(self) -> None:
        before = len(self.shell.log)
        self.shell.persist_next()
        self.committed(before)

    @precondition(lambda self: self.shell.in_flight)
    @rule()
    def fail_next(self) -> None:
        self.shell.fail_next()

    def committed(self, before: int) -> None:
        self.history.read(self.shell.log[before:])
        self.collect_markers()

    def collect_markers(self) -> None:
        for markers in self.shell.markers:
            self.history.announce(markers)
            self.sent += ((self.coordinator, markers, each) for each in markers.partitions)
        self.shell.markers.clear()

    @precondition(lambda self: self.sent)
    @rule(data=st.data(), is_heard=st.booleans(), is_last_time=st.booleans())
    def marker_arrives(self, data: st.DataObject, is_heard: bool, is_last_time: bool) -> None:
        """Unless it is the last time, the answer may be lost, or it was sent twice."""
        index = data.draw(st.integers(0, len(self.sent) - 1))
        self.marker(*self.sent[index], is_heard or is_last_time)
        if is_last_time:
            del self.sent[index]

    def marker(
        self, sender: int, markers: MarkersToWrite, partition: TopicPartition, is_heard: bool
    ) -> None:
        """The coordinator sends only what is expected; former ones may have sent long ago."""
        is_here = sender == self.coordinator
        if is_here and not self.shell.shard.awaits(markers, partition):
            return
        self.history.write(markers, partition, sender)
        if is_here and is_heard:
            self.shell.mark(markers, partition)

    @precondition(lambda self: self.sent)
    @rule()
    def markers_arrive(self) -> None:
        """All of them, from all senders."""
        while self.sent:
            self.marker(*self.sent.pop(), True)
        if self.disk_works:
            while self.shell.in_flight:
                self.persist_next()

    @rule(survivors=st.integers(0, 3))
    def coordinator_falls(self, survivors: int) -> None:
        """Another one goes on: some records that were not committed may be in its log as well."""
        log = list(self.shell.log)
        for decision, _ in zip(self.shell.in_flight, range(survivors), strict=False):
            log += decision.records
        former, self.shell = self.shell, self.shell.successor(log)
        former.resign()
        self.coordinator += 1
        self.shell.persists_at_once = self.shell.marks_at_once = False
        self.history.read(log[len(former.log) :])
        self.shell.start()
        self.collect_markers()

    @rule(ms=st.sampled_from([RETRY_MS, TIMEOUT_MS // 2, TIMEOUT_MS, 6 * TIMEOUT_MS]))
    def time_passes(self, ms: int) -> None:
        waits = self.history.waits and not self.shell.in_flight
        self.shell.advance(ms)
        if waits:
            assert not self.shell.in_flight, "a request is pending without a write in flight"
        if self.disk_works:
            while self.shell.in_flight:
                self.persist_next()

    # -- what must hold -------------------------------------------------------------------------

    @invariant()
    def it_is_what_the_log_says(self) -> None:
        described = self.shell.shard.describe(ID)
        image = self.history.image
        if image is None:
            assert described.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        else:
            assert described.transaction_state == image.state.label
            assert (described.producer_id, described.producer_epoch) == image.identity

    @invariant()
    def a_successor_would_know_the_same(self) -> None:
        """A replay of the log gives the same, and what is pending is what its record says."""
        live = self.shell.shard
        assert self.shell.successor(list(self.shell.log)).shard.image == live.image
        for transaction in live._transactions.values():
            pending = transaction.pending
            if pending is not None and pending.state is not TxnState.DEAD:
                assert decode_image(encode_image(pending)) == pending

    def teardown(self) -> None:
        """When all works again, all that was decided is finished, and the id can be used."""
        if not hasattr(self, "shell"):
            return
        self.has_producer_ids = self.disk_works = True
        for _ in range(4):
            while self.shell.in_flight:
                self.persist_next()
            self.markers_arrive()
            self.shell.advance(RETRY_MS)
        assert not self.shell.in_flight
        image = self.history.image
        assert image is None or not image.state.is_prepared
        for _ in range(2):
            token = self.shell.init()
            while self.shell.in_flight:
                self.persist_next()
            self.markers_arrive()
        producer_id, _ = self.shell.identity(token)
        assert producer_id != NO_PRODUCER_ID


TransactionMachine.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40)
TestTransaction = TransactionMachine.TestCase
