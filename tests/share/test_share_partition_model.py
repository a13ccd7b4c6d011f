"""Random fetches, acknowledgements, timeouts and leader changes, next to a plain dictionary.

The dictionary has one entry for each record that was ever delivered. It says what each answer of a
`SharePartition` must be, and what must never happen: a record with two members, a delivery count
that falls, an acknowledgement that takes effect in part, a record that comes again after it was
answered as accepted, one that never comes.
"""

import random
from dataclasses import dataclass, field

import pytest

from barnabas.share.acknowledgement import Acknowledgement, Refusal, check_acknowledgements
from barnabas.share.acquisition import LogBatch
from barnabas.share.record_state import AcknowledgeType, RecordState
from barnabas.share.share_limits import ShareLimits
from barnabas.share.share_partition import SharePartition
from barnabas.share.state_write import StateBatch, StateWrite

_MEMBERS = ("a", "b", "c")
_FREE = ""


@dataclass
class _Known:
    """One record, as an outsider knows it."""

    holder: str = _FREE
    deadline_ms: int = 0
    count: int = 0
    acknowledged: bool = False
    """Whether an acknowledgement waits for its write."""
    is_done: bool = False


@dataclass
class _Stored:
    """What the share coordinator has."""

    start_offset: int = 0
    states: dict[int, StateBatch] = field(default_factory=dict)

    def apply(self, write: StateWrite) -> None:
        for batch in write.batches:
            for offset in range(batch.first, batch.last + 1):
                before = self.states.get(offset)
                if before is None or batch.state.is_terminal or not before.state.is_terminal:
                    self.states[offset] = batch
        self.start_offset = max(self.start_offset, write.start_offset)
        self.states = {at: each for at, each in self.states.items() if at >= self.start_offset}

    def batches(self) -> list[StateBatch]:
        return [
            StateBatch(offset, offset, batch.state, batch.delivery_count)
            for offset, batch in sorted(self.states.items())
        ]


class _World:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.limits = ShareLimits(
            record_lock_duration_ms=100,
            delivery_count_limit=self.random.choice((2, 3, 5, 10)),
            max_record_locks=self.random.choice((5, 20, 100)),
        )
        self.log = self._new_log()
        self.readable = 0
        """How many batches of the log are there yet."""
        self.log_start = 0
        self.now_ms = 0
        self.known: dict[int, _Known] = {}
        self.final: set[int] = set()
        """Offsets whose final acknowledgement was answered without an error."""
        self.stored = _Stored()
        self.partition = SharePartition(0, is_stored=False)
        self.write: StateWrite | None = None
        self.waiting: dict[object, list[tuple[int, AcknowledgeType]]] = {}
        self.delivered: set[int] = set()

    def _new_log(self) -> list[LogBatch]:
        batches, offset = [], 0
        for _ in range(60):
            offset += self.random.choice((0, 0, 0, 0, 1, 3))
            size = self.random.choice((1, 1, 2, 5, 12))
            batches.append(LogBatch(offset, offset + size - 1, self.random.random() > 0.1))
            offset += size
        return batches

    # -- steps ---------------------------------------------------------------------------------

    def fetch(self) -> bool:
        partition, limits = self.partition, self.limits
        offset = partition.next_fetch_offset(limits)
        if offset is None:
            return False
        fetched = [each for each in self.log[: self.readable] if each.last >= offset]
        fetched = fetched[: self.random.randint(1, 6)]
        member = self.random.choice(_MEMBERS)
        is_record_limit = self.random.random() < 0.5
        max_records = self.random.choice((1, 3, 8, 50))
        acquired = partition.acquire(
            member,
            offset,
            fetched,
            limits,
            max_records=max_records,
            batch_size=self.random.choice((1, 4, 100)),
            is_record_limit=is_record_limit,
            now_ms=self.now_ms,
        )
        offsets = [at for each in acquired for at in range(each.first, each.last + 1)]
        assert len(offsets) == len(set(offsets))
        if is_record_limit:
            assert len(offsets) <= max_records
        in_log = {
            at for each in fetched if each.is_deliverable for at in range(each.first, each.last + 1)
        }
        assert set(offsets) <= in_log, "acquired what was not read or can't be delivered"
        for each in acquired:
            for at in range(each.first, each.last + 1):
                known = self.known.setdefault(at, _Known())
                assert known.holder == _FREE, at
                assert not known.acknowledged, at
                assert not known.is_done, at
                assert each.delivery_count == known.count + 1, at
                assert at not in self.final, f"{at} was answered as done, and comes again"
                if known.count >= limits.throttled_count:
                    assert len(acquired) == 1
                if limits.delivery_count_limit > 2 and (
                    known.count >= limits.delivery_count_limit - 1
                ):
                    assert len(offsets) == 1
                known.holder, known.count = member, each.delivery_count
                known.deadline_ms = self.now_ms + limits.record_lock_duration_ms
                self.delivered.add(at)
        return bool(acquired)

    def acknowledge(self) -> None:
        partition = self.partition
        member = self.random.choice(_MEMBERS)
        held = sorted(at for at, each in self.known.items() if each.holder == member)
        if held and self.random.random() < 0.85:
            first = self.random.choice(held)
            last = first
            while last + 1 in held and self.random.random() < 0.8:
                last += 1
        else:
            first = self.random.randint(0, partition.next_offset + 3)
            last = first + self.random.randint(0, 6)
        size = last - first + 1
        kinds = [self.random.choice((0, 1, 1, 1, 2, 2, 3, 4)) for _ in range(size)]
        types = kinds if self.random.random() < 0.5 else kinds[:1]
        batches = [Acknowledgement(first, last, types)]
        if self.random.random() < 0.3:  # a second one, most often of a record that is not held
            more = last + 1 + self.random.randint(0, 4)
            batches.append(Acknowledgement(more, more, [1]))
        assert check_acknowledgements(batches, is_renewal=True) is None
        wanted = [
            (at, AcknowledgeType(each.types[at - each.first if len(each.types) > 1 else 0]))
            for each in batches
            for at in range(each.first, each.last + 1)
            if at >= partition.start_offset
        ]
        may = all(
            (known := self.known.get(at)) is not None
            and known.holder == member
            and not known.acknowledged
            for at, _ in wanted
        )
        before = repr(partition._window.batches)
        token = object()
        outcome = self._acknowledge(member, batches, token)
        if not may:
            assert isinstance(outcome, Refusal), (batches, wanted)
            assert repr(partition._window.batches) == before
            return
        assert not isinstance(outcome, Refusal), (outcome, batches)
        ended = [(at, kind) for at, kind in wanted if kind is not AcknowledgeType.RENEW]
        assert outcome is bool(ended)
        for at, kind in wanted:
            if kind is AcknowledgeType.RENEW:
                self.known[at].deadline_ms = self.now_ms + self.limits.record_lock_duration_ms
            else:
                self.known[at].acknowledged = True
        if ended:
            self.waiting[token] = ended

    def _acknowledge(
        self, member: str, batches: list[Acknowledgement], token: object
    ) -> Refusal | bool:
        return self.partition.acknowledge(
            member,
            batches,
            self.limits,
            token,
            now_ms=self.now_ms,
            log_end_offset=self.log[-1].last + 1 if self.log else 0,
        )

    def store(self) -> None:
        if self.write is None:
            self.write = self.partition.next_write()
            if self.write is None or self.random.random() < 0.5:
                return  # more may happen while it is under way
        fails = self.random.random() < 0.2
        reaches = not fails or self.random.random() < 0.3
        if reaches:
            self.stored.apply(self.write)
        tokens = self.partition.not_written() if fails else self.partition.written()
        for token in tokens:
            for at, kind in self.waiting.pop(token):
                known = self.known[at]
                known.acknowledged = False
                if fails:
                    continue
                known.holder = _FREE
                self._settle(at, known, is_release=kind is AcknowledgeType.RELEASE)
                if kind is not AcknowledgeType.RELEASE:
                    self.final.add(at)
        self.write = None

    def _settle(self, at: int, known: _Known, *, is_release: bool) -> None:
        is_worn_out = known.count >= self.limits.delivery_count_limit
        known.is_done = not is_release or is_worn_out or at < self.log_start

    def pass_time(self) -> None:
        self.now_ms += self.random.choice((1, 10, 60))
        if self.partition.next_deadline_ms <= self.now_ms:
            self.partition.tick(self.limits, self.now_ms)
        for at, known in self.known.items():
            if known.holder and not known.acknowledged and known.deadline_ms <= self.now_ms:
                known.holder = _FREE
                self._settle(at, known, is_release=True)

    def leave(self) -> None:
        member = self.random.choice(_MEMBERS)
        self.partition.release_member(member, self.limits)
        for at, known in self.known.items():
            if known.holder == member and not known.acknowledged:
                known.holder = _FREE
                self._settle(at, known, is_release=True)

    def change_leader(self) -> None:
        self.write = None
        self.waiting.clear()
        stored = self.stored
        self.partition = SharePartition(stored.start_offset, stored.batches())
        self.partition.log_start_moved(self.log_start)
        reloaded: dict[int, _Known] = {}
        for at, known in self.known.items():
            state = stored.states.get(at)
            count = state.delivery_count if state else 0
            assert count <= known.count, "a delivery that did not happen is counted"
            is_done = at < stored.start_offset or at < self.log_start
            is_done = is_done or (state is not None and state.state.is_terminal)
            reloaded[at] = _Known(count=count, is_done=is_done)
        self.known = reloaded

    def delete_records(self) -> None:
        end = self.log[self.readable - 1].last if self.readable else 0
        self.log_start = max(self.log_start, min(end, self.random.randint(0, end + 1)))
        self.partition.log_start_moved(self.log_start)
        for at, known in self.known.items():
            if at < self.log_start:
                known.is_done, known.holder = True, _FREE

    # -- checks --------------------------------------------------------------------------------

    def check(self) -> None:
        window = self.partition._window
        expected = window.start_offset
        open_count = 0
        for batch in window.batches:
            assert batch.first == expected
            assert batch.last >= batch.first
            expected = batch.last + 1
            open_count += 0 if batch.state.is_terminal else len(batch)
            for at in range(batch.first, batch.last + 1):
                known = self.known.get(at, _Known())
                if batch.state is RecordState.ACQUIRED:
                    assert known.holder == batch.member_id != _FREE
                    assert known.acknowledged == (batch.outcome is not None)
                    assert known.deadline_ms == batch.lock_deadline_ms or known.acknowledged
                else:
                    assert known.holder == _FREE, (at, batch)
                if at in self.known and not batch.state.is_terminal:
                    assert not known.is_done, (at, batch)
        assert expected == window.next_offset
        assert open_count == window.open_count
        for at, known in self.known.items():
            if not known.is_done:
                assert at >= window.start_offset, at
                # Behind the window is what no leader has stored.
                assert at < window.next_offset or (known.count == 0 and not known.holder), at
        assert len(window.batches) <= 2 * open_count + 1

    def drain(self) -> None:
        """Let everything be consumed; whatever the log has must have come."""
        self.readable = len(self.log)
        for _ in range(3_000):
            self.now_ms += 200
            self.pass_time()
            if not self.fetch() and self.partition.next_fetch_offset(self.limits) is not None:
                offset = self.partition.next_fetch_offset(self.limits)
                if offset > self.log[-1].last:
                    break
            self._accept_all()
        for batch in self.log:
            if batch.is_deliverable:
                for at in range(max(batch.first, self.log_start), batch.last + 1):
                    assert at in self.delivered, f"{at} never came"
        assert self.partition.start_offset == self.log[-1].last + 1

    def _accept_all(self) -> None:
        for member in _MEMBERS:
            held = [
                at
                for at, each in sorted(self.known.items())
                if each.holder == member and not each.acknowledged
            ]
            batches = [Acknowledgement(at, at, [1]) for at in held]
            token = object()
            if self._acknowledge(member, batches, token):
                self.waiting[token] = [(at, AcknowledgeType.ACCEPT) for at in held]
                for at in held:
                    self.known[at].acknowledged = True
        for _ in range(6):
            self.store()


@pytest.mark.parametrize("seed", range(80))
def test_agrees_with_a_dictionary(seed: int) -> None:
    world = _World(seed)
    steps = (
        [world.fetch] * 6
        + [world.acknowledge] * 8
        + [world.store] * 6
        + [world.pass_time] * 3
        + [world.leave]
    )
    for _ in range(250):
        world.readable = min(len(world.log), world.readable + (world.random.random() < 0.3))
        world.random.choice(steps)()
        if world.random.random() < 0.01:
            world.change_leader()
        if world.random.random() < 0.005:
            world.delete_records()
        world.check()
    world.drain()
    assert all(at in world.delivered for at in world.final)
