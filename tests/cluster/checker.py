"""Judges a history: what the cluster promised its clients, and whether it was kept.

- **lost write**: acknowledged, but not there at the end.
- **inconsistent offset**: two values for one offset, among acknowledgements, polls and the end.
- **lost read**: a client was given a record that is not there at the end.
- **duplicate**: a value at two offsets. Only a producer that is not idempotent may cause one, and
  only as often as it has sent a record again.
- **reordered**: records of an idempotent producer in another order than sent.
- **invented**: a record that was never sent, or in a partition for which it was not meant.
- **non-monotonic poll**, **skipped poll**: a consumer that reads on in its partition sees each
  record that is there at the end exactly once, in order.
- **unread**: a record that no member of a group which read to the end has seen.
- **commit went back**: a group was told an older offset than one acknowledged before it asked.
- **client error**: a consumer was told that its offset does not exist, a producer that it may not
  go on, or the like.

Nothing here forgives anything: the list of a healthy run is empty.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from tests.cluster.history import History, Polled, Stored, number_of, producer_of


class Violation(NamedTuple):
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def check(history: History) -> list[Violation]:
    """All violations, in the order of the list above."""
    log = {(stored.partition, stored.offset): stored.value for stored in history.stored}
    return list(
        chain(
            _lost_writes(history),
            _inconsistent_offsets(history),
            _lost_reads(history, log),
            _duplicates(history),
            _reordered(history),
            _invented(history),
            _polls(history),
            _unread(history),
            _commits(history),
            (Violation("client error", text) for text in history.client_errors),
        )
    )


# -- writes ----------------------------------------------------------------------------------------


def _lost_writes(history: History) -> Iterator[Violation]:
    kept = {stored.value for stored in history.stored}
    for acked in history.acked:
        if acked.value not in kept:
            where = f"partition {acked.partition} offset {acked.offset}"
            yield Violation("lost write", f"{acked.value}, acknowledged at {where}")


def _inconsistent_offsets(history: History) -> Iterator[Violation]:
    seen: dict[tuple[int, int], dict[str, str]] = defaultdict(dict)
    for acked in history.acked:
        if acked.offset is not None:
            seen[acked.partition, acked.offset].setdefault(acked.value, "acknowledged")
    for polled in history.polled:
        seen[polled.partition, polled.offset].setdefault(polled.value, "polled")
    for stored in history.stored:
        seen[stored.partition, stored.offset].setdefault(stored.value, "stored")
    for (partition, offset), values in seen.items():
        if len(values) > 1:
            shown = ", ".join(f"{value} ({how})" for value, how in values.items())
            yield Violation(
                "inconsistent offset", f"partition {partition} offset {offset}: {shown}"
            )


def _lost_reads(history: History, log: dict[tuple[int, int], str]) -> Iterator[Violation]:
    for polled in {(p.partition, p.offset): p for p in history.polled}.values():
        if (polled.partition, polled.offset) not in log:
            where = f"partition {polled.partition} offset {polled.offset}"
            yield Violation("lost read", f"{polled.value}, polled at {where}")


def _duplicates(history: History) -> Iterator[Violation]:
    places: dict[str, list[Stored]] = defaultdict(list)
    for stored in history.stored:
        places[stored.value].append(stored)
    allowed = {
        name: Counter() if mode.idempotent else mode.resent.copy()
        for name, mode in history.producers.items()
    }
    for value, found in places.items():
        for again in found[1:]:
            left = allowed.get(producer_of(value), Counter[int]())
            left[again.partition] -= 1
            if left[again.partition] < 0:
                shown = ", ".join(f"{s.partition}:{s.offset}" for s in found)
                yield Violation("duplicate", f"{value} is at {shown}")


def _reordered(history: History) -> Iterator[Violation]:
    last: dict[tuple[int, str], Stored] = {}
    for stored in sorted(history.stored):
        producer = producer_of(stored.value)
        mode = history.producers.get(producer)
        if mode is None or not mode.idempotent:
            continue
        before = last.get((stored.partition, producer))
        if before is not None and number_of(stored.value) < number_of(before.value):
            yield Violation("reordered", f"partition {stored.partition}: {before} before {stored}")
        last[stored.partition, producer] = stored


def _invented(history: History) -> Iterator[Violation]:
    meant = {sent.value: sent.partition for sent in history.sent}
    for stored in history.stored:
        if meant.get(stored.value) != stored.partition:
            yield Violation("invented", f"{stored}, sent to {meant.get(stored.value)}")


# -- reads -----------------------------------------------------------------------------------------


def _polls(history: History) -> Iterator[Violation]:
    offsets: dict[int, list[int]] = defaultdict(list)
    for stored in history.stored:
        offsets[stored.partition].append(stored.offset)
    polls: dict[int, list[Polled]] = defaultdict(list)
    for polled in history.polled:
        polls[polled.assignment].append(polled)
    for assigned in history.assigned:
        stored_offsets = set(offsets[assigned.partition])
        way = [assigned.start - 1, *(polled.offset for polled in polls[assigned.number])]
        for before, after in pairwise(way):
            text = f"{assigned.consumer}, partition {assigned.partition}: {after} after {before}"
            if after <= before:
                yield Violation("non-monotonic poll", text)
            elif any(offset in stored_offsets for offset in range(before + 1, after)):
                yield Violation("skipped poll", text)


def _unread(history: History) -> Iterator[Violation]:
    names = {assigned.number: assigned.consumer for assigned in history.assigned}
    for group, consumers in history.groups.items():
        members = set(consumers)
        read = {(p.partition, p.offset) for p in history.polled if names[p.assignment] in members}
        for stored in history.stored:
            if (stored.partition, stored.offset) not in read:
                yield Violation("unread", f"{stored} by group {group}")


def _commits(history: History) -> Iterator[Violation]:
    for saw in history.saw_committed:
        for kept in history.committed:
            same = (kept.group, kept.partition) == (saw.group, saw.partition)
            if same and kept.at < saw.began and kept.offset > saw.offset:
                yield Violation("commit went back", f"{saw} after {kept}")
                break
