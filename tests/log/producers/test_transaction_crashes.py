"""A process that ends between any two changes of a file, while transactions come and go."""

from random import Random

import pytest

from barnabas.log import Log, LogConfig
from tests.log.batches import end, put, write
from tests.log.memory_disk import Crash, CrashAfter, MemoryDisk
from tests.log.producers.read_committed import committed_offsets
from tests.log.producers.transaction_oracle import Event, Expected

DIRECTORY = "data/t-0"
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=150)
PRODUCERS = (1, 2)


class Story:
    """The same events each time, as far as the crash lets them happen."""

    def __init__(self, disk: MemoryDisk) -> None:
        self.disk = disk
        self.events: list[Event] = []

    def play(self) -> None:
        self.log = Log.open(self.disk, DIRECTORY, CONFIG, 0)
        for number in range(18):
            producer_id = PRODUCERS[number % 2]
            self.write(producer_id)
            if number % 3 == 2:
                self.end(producer_id, commit=number % 2 == 0)
            if number == 9:
                self.log.flusher.flush()
                self.log.checkpoint()
        put(self.log, b"plain")
        self.events.append(Event(self.log.log_end_offset - 1))
        self.cut(self.log.log_end_offset - 9)
        self.end(1, commit=False)
        self.end(2, commit=True)
        self.log.close()

    def write(self, producer_id: int) -> None:
        self.events.append(Event(self.log.log_end_offset, producer_id))
        write(self.log, producer_id, size=40)

    def end(self, producer_id: int, *, commit: bool) -> None:
        self.events.append(Event(self.log.log_end_offset, producer_id, commit))
        end(self.log, producer_id, commit=commit)

    def cut(self, offset: int) -> None:
        self.log.truncate_to(offset)
        self.events = [event for event in self.events if event.offset < offset]

    def check(self) -> None:
        """What is there agrees with what has happened, up to where it goes."""
        log = Log.open(self.disk, DIRECTORY, CONFIG, 0)
        end_offset = log.log_end_offset
        happened = Expected([e for e in self.events if e.offset < end_offset], end_offset)
        for producer_id in PRODUCERS:
            assert log.producer_state.ongoing_transaction(producer_id) == happened.ongoing.get(
                producer_id
            )
        upto = min([*happened.ongoing.values(), end_offset])
        shown = committed_offsets(log, 0, upto, 300)
        assert shown == {offset for offset in happened.shown if offset < upto}
        log.abandon()


@pytest.mark.parametrize("loses_power", [False, True])
def test_nothing_aborted_is_shown_after_a_crash(loses_power: bool) -> None:
    steps = 0
    finished = False
    while not finished:
        disk = MemoryDisk()
        story = Story(disk)
        disk.on_step = CrashAfter(steps)
        try:
            story.play()
            finished = True
        except Crash:
            pass
        disk.on_step = None
        if loses_power:
            disk.power_loss(Random(steps))
        story.check()
        story.check()
        steps += 1
    assert steps > 60
