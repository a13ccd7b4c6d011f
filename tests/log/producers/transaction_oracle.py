"""What follows for transactions from the batches of a log, found the dumb way."""

from dataclasses import dataclass


@dataclass
class Event:
    """One batch. `producer_id` None: a plain one; `commit` None: data."""

    offset: int
    producer_id: int | None = None
    commit: bool | None = None


class Expected:
    """What follows from the events."""

    def __init__(self, events: list[Event], committed_offset: int) -> None:
        self.shown: set[int] = set()
        self.ongoing: dict[int, int] = {}
        open_offsets: dict[int, list[int]] = {}
        self.unstable: list[int] = []
        for event in events:
            if event.producer_id is None:
                self.shown.add(event.offset)
            elif event.commit is None:
                open_offsets.setdefault(event.producer_id, []).append(event.offset)
            else:
                written = open_offsets.pop(event.producer_id, [])
                if event.commit:
                    self.shown.update(written)
                if written and event.offset >= committed_offset:
                    self.unstable.append(written[0])
        self.ongoing = {producer_id: written[0] for producer_id, written in open_offsets.items()}
        self.unstable += self.ongoing.values()
