"""A log against a dumb oracle: a list of batches."""

from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from barnabas.log import Log, LogConfig, OffsetOutOfRange, OpenFiles
from barnabas.records.batch import parse_header
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_records
from tests.log.batches import batch
from tests.log.memory_disk import MemoryDisk
from tests.support.tier import examples

DIRECTORY = "data/t-0"
DELETE_NOTHING = LogConfig(segment_bytes=700, index_interval_bytes=150, retention_ms=-1)

Stored = tuple[int, int, bytes, list[int]]  # base offset, next offset, bytes, timestamps


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = MemoryDisk()
        self.files = OpenFiles(self.disk, limit=3)
        self.stored: list[Stored] = []
        self.start = 0
        self.end = 0
        self.synced = 0
        self.sequence = 0
        self.open()

    def open(self) -> None:
        self.log = Log.open(self.disk, DIRECTORY, DELETE_NOTHING, 0, files=self.files)

    @rule(
        timestamps=st.lists(st.integers(0, 50), min_size=1, max_size=4),
        size=st.integers(0, 200),
        codec=st.sampled_from([Compression.NONE, Compression.LZ4]),
        epoch_step=st.sampled_from([0, 0, 0, 1]),
    )
    def append(self, timestamps: list[int], size: int, codec: Compression, epoch_step: int) -> None:
        buffer, batches = batch(
            [(timestamp, b"k", bytes([self.end % 256]) * size) for timestamp in timestamps],
            compression=codec,
            producer_id=7,
            producer_epoch=0,
            base_sequence=self.sequence,
        )
        header = batches[0][1]
        assert self.log.producer_state.find_duplicate(header) is None
        epoch = max(self.log.latest_epoch, 0) + epoch_step
        info = self.log.append(buffer, batches, epoch, 0)
        assert (info.base_offset, info.last_offset) == (
            self.end,
            self.end + len(timestamps) - 1,
        )
        assert self.log.producer_state.find_duplicate(header) == info
        self.sequence += len(timestamps)
        self.stored.append((self.end, self.end + len(timestamps), bytes(buffer), timestamps))
        self.end += len(timestamps)

    @precondition(lambda self: self.end > self.start)
    @rule(data=st.data(), max_bytes=st.integers(0, 900), min_one=st.booleans())
    def read(self, data: st.DataObject, max_bytes: int, min_one: bool) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        boundaries = [stored[1] for stored in self.stored if stored[1] >= self.start]
        upto = data.draw(st.sampled_from([None, *boundaries]))
        got = bytes(self.log.read(offset, max_bytes, upto_offset=upto, min_one=min_one))
        limit = self.end if upto is None else upto
        expected = [s[2] for s in self.stored if s[1] > offset and s[1] <= limit]
        whole = b"".join(expected)
        assert whole.startswith(got)
        sizes = [0]
        for stored in expected:
            sizes.append(sizes[-1] + len(stored))
        assert len(got) in sizes
        if len(got) > max_bytes:
            assert min_one
            assert len(got) == len(expected[0])
        if expected and (min_one or len(expected[0]) <= max_bytes):
            assert got

    @rule(timestamp=st.integers(-1, 52))
    def look_up_timestamp(self, timestamp: int) -> None:
        found = self.log.reader.offset_for_timestamp(timestamp)
        expected = None
        for base, _, _, timestamps in self.stored:
            for delta, at in enumerate(timestamps):
                if expected is None and at >= timestamp and base + delta >= self.start:
                    expected = (base + delta, at)
        assert (found and found[:2]) == expected

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(0, self.end))
        job = self.log.retention.delete_records_before(offset)
        if job is not None:
            job.run()
        self.start = max(self.start, offset)

    @rule()
    def flush(self) -> None:
        job = self.log.flusher.prepare(everything=True)
        if job is not None:
            job.run()
            self.log.flusher.complete(job)
        self.synced = self.end
        self.log.checkpoint()

    @rule()
    def stop_cleanly(self) -> None:
        self.log.close()
        self.synced = self.end
        self.open()
        assert self.log.recovery is None

    @rule()
    def kill(self) -> None:
        self.log.abandon()
        self.open()

    @rule(garbage=st.binary(min_size=1, max_size=300))
    def kill_and_find_garbage_behind(self, garbage: bytes) -> None:
        self.log.abandon()
        logs = sorted(name for name in self.disk.nodes if name.endswith(".log"))
        if logs:
            self.disk.nodes[logs[-1]].data += garbage
        self.open()

    @precondition(lambda self: self.stored)
    @rule(seed=st.integers(0, 2**32))
    def lose_power(self, seed: int) -> None:
        self.log.abandon()
        self.disk.power_loss(Random(seed))
        self.open()
        end = self.log.log_end_offset
        assert self.synced <= end <= self.end
        assert end == self.log.log_start_offset or end in [s[1] for s in self.stored]
        self.stored = [stored for stored in self.stored if stored[1] <= end]
        self.end = end
        self.start = self.log.log_start_offset
        last = self.log.read(end, 1)
        assert not last
        self.sequence = max(self.sequence, 0) + 1000  # a new producer life, nothing repeats

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        boundaries = [s[0] for s in self.stored if s[0] >= self.start]
        if boundaries:
            offset = data.draw(st.sampled_from(boundaries))
            self.log.truncate_to(offset)
            self.stored = [s for s in self.stored if s[1] <= offset]
            self.end = offset
            self.synced = min(self.synced, offset)
            self.sequence += 1000

    @rule(seed=st.integers(0, 2**32))
    def damage_an_index_at_rest(self, seed: int) -> None:
        random = Random(seed)
        self.log.close()
        self.synced = self.end
        indexes = [name for name in sorted(self.disk.nodes) if name.endswith("index")]
        if indexes:
            node = self.disk.nodes[random.choice(indexes)]
            if random.random() < 0.5:
                del node.data[random.randint(0, len(node.data)) :]
            else:
                node.data[:] = random.randbytes(len(node.data))
        self.open()

    @invariant()
    def agrees(self) -> None:
        assert self.log.log_start_offset == self.start
        assert self.log.log_end_offset == self.end
        assert self.log.flushed_offset <= self.end
        assert self.files.count <= 3
        for offset in (self.start - 1, self.end + 1):
            with pytest.raises(OffsetOutOfRange):
                self.log.read(offset, 1)
        got = b""
        offset = self.start
        while offset < self.end:
            data = self.log.read(offset, 1 << 20)
            assert data
            got += data
            offset = decode_records(data)[-1].offset + 1
        assert got == b"".join(stored[2] for stored in self.stored if stored[1] > self.start)
        for base, _, data, _ in self.stored:
            if base >= self.start:
                assert self.log.leader_epoch_for(base) == parse_header(data)[2]

    def teardown(self) -> None:
        self.log.abandon()
        assert self.disk.open_files == 0


LogMachine.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=25)
TestLogModel = LogMachine.TestCase
