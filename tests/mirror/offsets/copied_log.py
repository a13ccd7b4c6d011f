"""A partition and its copy, record by record: what a translation is compared with."""

from dataclasses import dataclass, field
from random import Random

from barnabas.mirror.offsets.translation import Translation


@dataclass
class CopiedLog:
    """Copies transactions of a source with gaps into a target with gaps, and remembers all."""

    random: Random
    lost_reports: float = 0.0
    """How often a task dies after its commit, so that its report is missing."""
    source_end: int = 0
    target_end: int = 0
    position: int = 0
    copies: dict[int, int] = field(default_factory=dict)
    """Offset in the target, by offset in the source."""

    def copy(self, translation: Translation) -> None:
        """One round: some transactions, which are reported together, or not at all."""
        runs: list[tuple[int, int, int]] = []
        for _ in range(self.random.randint(1, 3)):
            runs += self._transaction()
        if self.random.random() >= self.lost_reports:
            for run in runs:
                translation.add(*run)

    def _transaction(self) -> list[tuple[int, int, int]]:
        random = self.random
        if random.random() < 0.2:  # rolled back: offsets without records
            self.target_end += random.randint(1, 9)
        runs = []
        for _ in range(random.randint(1, 3)):
            count = random.choice([1, 1, 2, 5, 30])
            runs.append((self.source_end, self.target_end, count))
            for each in range(count):
                self.copies[self.source_end + each] = self.target_end + each
            self.source_end += count
            self.target_end += count
            # Markers, aborted records, and what compaction has removed from the source.
            self.source_end += random.choice([0, 0, 1, 1, 2, 40])
        self.position = self.source_end
        self.target_end += 1  # the marker of the transaction
        return runs

    def goes_on_at(self, upstream: int) -> int:
        """What a perfect translation says: the first copy that is not read yet, or the end."""
        unread = [target for source, target in self.copies.items() if source >= upstream]
        return min(unread, default=self.target_end)

    def goes_back_to(self, downstream: int) -> int:
        unread = [source for source, target in self.copies.items() if target >= downstream]
        return min(unread, default=self.source_end)

    def repeats(self, upstream: int, translated: int) -> int:
        """How many records a group reads again that has read everything before `upstream`."""
        return sum(
            source < upstream and target >= translated for source, target in self.copies.items()
        )
