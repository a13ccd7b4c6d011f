"""What is known of transactions: what each of them wrote and read, how it was to end, how it did.

A transaction takes in records of some partitions, its sources, and writes for each one record to
some partitions of another topic. So from what readers of committed records see it can be told:

- Nothing is seen of a transaction whose commit was never requested, or that is known to be aborted.
- Of a transaction all is seen or nothing, the offsets of what it has read included.
- What was answered to be committed is seen.
- For each source there is one record in each place where one belongs, however many attempts wrote
  it, and they stand in the order of the sources.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.sim.checks.history import History, Place, Violation


class Source(NamedTuple):
    """A record that was read."""

    place: Place
    offset: int

    def __str__(self) -> str:
        return f"{self.place}@{self.offset}"


@dataclass(eq=False)
class Transaction:
    """One attempt; `name` is its own, and is found in all that it writes."""

    name: str
    group: str
    began_us: int
    offsets: dict[Place, int] = field(default_factory=dict)
    """Where to read on when it is committed."""
    values: defaultdict[Place, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    is_wanted: bool = False
    """A client has asked to commit it."""
    outcome: bool | None = None
    """Whether it is committed, once that is known."""

    def ends(self, committed: bool, how: str) -> None:
        if self.outcome is (not committed):
            known = "committed" if self.outcome else "aborted"
            raise Violation(f"transaction {self.name} is {how}, but it was {known} before")
        self.outcome = committed


class TransactionHistory:
    """Records what transactions write, and what readers see of it."""

    def __init__(self, history: History, outputs: list[Place]) -> None:
        self._history = history
        self._outputs = outputs
        self._transactions: dict[str, Transaction] = {}
        self._written: dict[bytes, tuple[Transaction, Place, Source]] = {}
        self._seen: defaultdict[Place, dict[int, bytes]] = defaultdict(dict)
        """What readers of committed records saw, by offset."""
        self._once: dict[tuple[Place, Source], tuple[int, bytes]] = {}
        self._answered: dict[tuple[str, Place], int] = {}
        """The offsets of transactions that were answered to be committed."""
        self._shown: dict[tuple[str, Place], int] = {}
        """The furthest offset that a client has seen."""

    @property
    def committed(self) -> int:
        return sum(1 for one in self._transactions.values() if one.outcome)

    def places_of(self, source: Source) -> list[Place]:
        """Where the records belong that are written for it."""
        outputs = self._outputs
        first, second = source.offset % len(outputs), (source.offset + 1) % len(outputs)
        return [outputs[at] for at in sorted({first, second})]

    # -- those who write ---------------------------------------------------------------------------

    def begin(self, name: str, group: str, now_us: int) -> Transaction:
        assert name not in self._transactions
        transaction = self._transactions[name] = Transaction(name, group, now_us)
        return transaction

    def take_in(self, transaction: Transaction, source: Source) -> None:
        """Have the transaction write what belongs to a source, and read on behind it."""
        transaction.offsets[source.place] = source.offset + 1
        for place in self.places_of(source):
            value = f"{transaction.name}>{place.partition}!{source.place}:{source.offset}".encode()
            transaction.values[place].append(value)
            self._written[value] = transaction, place, source
            self._history.sending(place, value)

    def answered(self, transaction: Transaction, *, committed: bool) -> None:
        """The coordinator says that this is how it ends."""
        transaction.ends(committed, f"answered to be {'committed' if committed else 'aborted'}")
        if committed:
            for place, offset in transaction.offsets.items():
                key = transaction.group, place
                self._answered[key] = max(offset, self._answered.get(key, 0))

    # -- those who read ----------------------------------------------------------------------------

    def read(self, place: Place, offset: int, value: bytes) -> None:
        """A reader of committed records was given this."""
        transaction, belongs, source = self._written[value]
        assert belongs == place
        self._is_seen(transaction, f"{place}@{offset}")
        key = place, source
        known = self._once.setdefault(key, (offset, value))
        if known != (offset, value):
            raise Violation(f"{place}: for {source} stand {known} and {(offset, value)}")
        self._seen[place][offset] = value

    def _is_seen(self, transaction: Transaction, where: str) -> None:
        if not transaction.is_wanted:
            raise Violation(f"{where} is of {transaction.name}, whose commit was never requested")
        transaction.ends(True, f"seen in {where}")

    def known_offset(self, group: str, place: Place) -> int:
        """The least that a client may see from now on that waits for transactions to end."""
        key = group, place
        return max(self._answered.get(key, 0), self.shown_offset(group, place))

    def shown_offset(self, group: str, place: Place) -> int:
        """The least that a client may see from now on."""
        return self._shown.get((group, place), 0)

    def told_offset(self, group: str, place: Place, offset: int, by: str, least: int) -> None:
        """A client was answered a committed offset, and with it the name of the transaction."""
        if offset < least:
            raise Violation(f"{group} had committed {least} of {place}, and now it has {offset}")
        if offset <= 0:
            return
        transaction = self._transactions.get(by)
        if transaction is None or transaction.offsets.get(place) != offset:
            raise Violation(f"{group} has {offset} of {place} from {by!r}, which wrote no such")
        self._is_seen(transaction, f"the offset of {place} in {group}")
        self._shown[group, place] = max(offset, self.shown_offset(group, place))

    # -- the end -----------------------------------------------------------------------------------

    def check(self, offsets: dict[Place, int]) -> None:
        """All has been read: the outputs, and the offsets up to which sources were taken in."""
        for place, end in offsets.items():
            for offset in range(end):
                source = Source(place, offset)
                for output in self.places_of(source):
                    if (output, source) not in self._once:
                        raise Violation(
                            f"{output} has nothing for {source}, and {end} of {place} are committed"
                        )
        for (output, source), (offset, value) in self._once.items():
            if source.offset >= offsets[source.place]:
                raise Violation(
                    f"{output}@{offset}: {value!r} is committed, and of {source.place} only "
                    f"{offsets[source.place]} are"
                )
        for place, seen in self._seen.items():
            self._check_order(place, seen)
        for transaction in self._transactions.values():
            if transaction.outcome:
                self._check_whole(transaction)

    def _check_order(self, place: Place, seen: dict[int, bytes]) -> None:
        newest: dict[Place, int] = {}
        for offset, value in sorted(seen.items()):
            _, _, source = self._written[value]
            if source.offset <= newest.get(source.place, -1):
                raise Violation(
                    f"{place}@{offset}: {value!r} stands behind that for {newest[source.place]}"
                )
            newest[source.place] = source.offset

    def _check_whole(self, transaction: Transaction) -> None:
        for place, values in transaction.values.items():
            missing = set(values).difference(self._seen[place].values())
            if missing:
                raise Violation(
                    f"transaction {transaction.name} is committed, and {place} does not have "
                    f"{sorted(missing)}"
                )
