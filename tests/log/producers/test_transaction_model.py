"""Transactions in a log against a dumb oracle, which goes through all events each time."""

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.log import Log, LogConfig, OpenFiles, checked_batches
from tests.log.batches import end, put, write
from tests.log.memory_disk import MemoryDisk
from tests.log.producers.read_committed import committed_offsets
from tests.log.producers.transaction_oracle import Event, Expected
from tests.support.tier import examples

DIRECTORY = "data/t-0"
CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=150, retention_ms=-1)
PRODUCERS = (1, 2, 3)


class TransactionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = MemoryDisk()
        self.files = OpenFiles(self.disk, limit=4)
        self.events: list[Event] = []
        self.start = 0
        self.synced = 0
        self.open()
        self.was_stopped = False

    def open(self) -> None:
        self.was_stopped = True
        self.log = Log.open(self.disk, DIRECTORY, CONFIG, 0, files=self.files)

    @property
    def end(self) -> int:
        return self.log.log_end_offset

    @rule(producer_id=st.sampled_from(PRODUCERS), size=st.integers(0, 150))
    def write(self, producer_id: int, size: int) -> None:
        self.events.append(Event(self.end, producer_id))
        write(self.log, producer_id, size=size)

    @rule(producer_id=st.sampled_from(PRODUCERS), commit=st.booleans())
    def finish(self, producer_id: int, commit: bool) -> None:
        self.events.append(Event(self.end, producer_id, commit))
        end(self.log, producer_id, commit=commit)

    @rule(size=st.integers(0, 150))
    def write_plainly(self, size: int) -> None:
        self.events.append(Event(self.end))
        put(self.log, b"p" * size)

    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        self.log.committed_offset = data.draw(st.integers(self.log.committed_offset, self.end))
        self.was_stopped = self.was_stopped and self.log.committed_offset < self.end

    @rule()
    def flush(self) -> None:
        self.log.flusher.flush()
        self.log.checkpoint()
        self.synced = self.end

    @rule(lost=st.sampled_from([(), (".txnindex",), (".snapshot",), (".txnindex", ".snapshot")]))
    def stop(self, lost: tuple[str, ...]) -> None:
        self.log.close()
        self.synced = self.end
        self._lose(lost)
        self.open()

    @rule(lost=st.sampled_from([(), (".txnindex",), (".snapshot",), (".txnindex", ".snapshot")]))
    def kill(self, lost: tuple[str, ...]) -> None:
        self.log.abandon()
        self._lose(lost)
        self.open()

    def _lose(self, lost: tuple[str, ...]) -> None:
        for path in [path for path in self.disk.nodes if lost and path.endswith(lost)]:
            del self.disk.nodes[path]

    @precondition(lambda self: self.events)
    @rule(seed=st.integers(0, 2**32))
    def lose_power(self, seed: int) -> None:
        self.log.abandon()
        self.disk.power_loss(Random(seed))
        self.open()
        assert self.end >= self.synced
        self.events = [event for event in self.events if event.offset < self.end]
        self.start = self.log.log_start_offset

    @precondition(lambda self: self.events)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        self.log.truncate_to(offset)
        self.was_stopped = True
        self.events = [event for event in self.events if event.offset < offset]
        self.synced = min(self.synced, offset)

    @precondition(lambda self: self.log.committed_offset > self.start)
    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, self.log.committed_offset))
        job = self.log.retention.delete_records_before(offset)
        if job is not None:
            job.run()
        self.start = max(self.start, offset)

    @invariant()
    def the_right_transactions_go_on(self) -> None:
        expected = Expected(self.events, self.log.committed_offset)
        for producer_id in PRODUCERS:
            ongoing = self.log.producer_state.ongoing_transaction(producer_id)
            wanted = expected.ongoing.get(producer_id)
            if wanted is None or wanted >= self.start:
                assert ongoing == wanted
        unstable = self.log.producer_state.first_unstable_offset
        if min(expected.unstable, default=self.start) < self.start:
            return
        if not self.was_stopped:
            assert unstable == min(expected.unstable, default=None)
        # A snapshot does not know which markers were not committed when it was taken.
        assert unstable is None or unstable in expected.unstable
        for ongoing in expected.ongoing.values():
            assert unstable is not None
            assert unstable <= ongoing

    @invariant()
    def no_aborted_record_is_shown(self) -> None:
        self._read(self.start, 400)

    @rule(data=st.data(), max_bytes=st.integers(1, 900))
    def read(self, data: st.DataObject, max_bytes: int) -> None:
        self._read(data.draw(st.integers(self.start, self.end)), max_bytes)

    def _read(self, offset: int, max_bytes: int) -> None:
        expected = Expected(self.events, self.end)
        upto = min([*expected.ongoing.values(), self.end])
        wanted = {number for number in expected.shown if offset <= number < upto}
        assert committed_offsets(self.log, offset, upto, max_bytes) == wanted

    @rule(max_bytes=st.integers(1, 900))
    def follow(self, max_bytes: int) -> None:
        """A new follower sees the same."""
        follower = Log.open(MemoryDisk(), DIRECTORY, CONFIG, 0)
        follower.truncate_fully_and_start_at(self.start)
        while follower.log_end_offset < self.end:
            data = self.log.read(follower.log_end_offset, max_bytes)
            view, batches = checked_batches(data, follower.log_end_offset)
            follower.append_as_follower(view, batches, 0)
        expected = Expected([e for e in self.events if e.offset >= self.start], self.end)
        upto = min([*expected.ongoing.values(), self.end])
        wanted = {number for number in expected.shown if number < upto}
        assert committed_offsets(follower, self.start, upto, max_bytes) == wanted


TransactionMachine.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40)
TestTransactions = TransactionMachine.TestCase
