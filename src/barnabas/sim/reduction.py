"""What a run leaves out, compared with the run that its seed stands for.

A run that leaves something out is another run from there on, as random numbers are drawn for other
things. But it repeats exactly, as every run does, so it is named by its seed and by this.
"""

from dataclasses import dataclass, replace

from barnabas.sim.profile import Profile

PARTS = (
    "transactions",
    "real client",
    "consumer group",
    "mixed group",
    "share group",
    "deletions",
    "compactions",
    "reused name",
    "registry",
    "changes",
    "expiry",
    "voter changes",
    "long cuts",
    "mixed releases",
    "metadata snapshots",
    "partial recovery",
    "services",
    "members",
    "committers",
    "further producers",
)
"""What can be left out, if a run has it."""


@dataclass(frozen=True)
class Reduction:
    """By default nothing is left out."""

    faults: frozenset[int] | None = None
    """The numbers of the faults that are made, from 1; None: all of them."""
    without: frozenset[str] = frozenset()
    """Some of `PARTS`."""
    faulty_ms: int | None = None
    """How long faults are made, if that is not as drawn."""

    def __str__(self) -> str:
        """As options of the command."""
        words = [] if self.faults is None else [f"--faults {_numbers(self.faults)}"]
        if self.without:
            words.append(f'--without "{",".join(part for part in PARTS if part in self.without)}"')
        if self.faulty_ms is not None:
            words.append(f"--faulty-ms {self.faulty_ms}")
        return " ".join(words)

    def applied_to(self, profile: Profile) -> Profile:
        if self.faulty_ms is not None:
            profile = replace(profile, faulty_ms=self.faulty_ms)
        if "transactions" in self.without:
            profile = replace(profile, transactional_ids=0, output_partitions=0)
        if "members" in self.without:
            profile = replace(profile, members=0)
        if "committers" in self.without:
            profile = replace(profile, committers=0)
        if "further producers" in self.without:
            profile = replace(profile, producers=min(profile.producers, 1))
        return profile


def _numbers(faults: frozenset[int]) -> str:
    return ",".join(map(str, sorted(faults))) or "none"
