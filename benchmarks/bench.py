"""How a measurement is run: contenders in turn, several rounds, medians.

Machines are noisy, so an absolute number says little. The contenders take turns (A B A B), each
round with a fresh broker on an empty directory, and the medians of the rounds are compared.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from rich.console import Console

from benchmarks.brokers import BARE, BARNABAS, Contender

TOPIC = "barnabas-bench"

CLUSTER = "three nodes"
BASELINE = "baseline"
"""What a figure is compared with in the same run; the row's name says what that is."""

KERNEL = "kernel"
WITHOUT = "without"
OBJECTS = "by objects"
"""Ways of the codec of records: compiled, without that, and columns by way of Python's objects."""

ASYNCIO = "in asyncio"
CONFLUENT = "confluent-kafka"
AIOKAFKA = "aiokafka"
KAFKA_PYTHON = "kafka-python"
"""Clients that are compared with Barnabas' blocking one, its own for asyncio first."""

FASTSTREAM_CONFLUENT = "FastStream, confluent"
FASTSTREAM_AIOKAFKA = "FastStream, aiokafka"
QUIXSTREAMS = "quixstreams"
FAUST = "Faust"
"""Frameworks for applications, which are compared with `barnabas.App`."""

CONSUMER = "consumer"
CLASSIC = "classic"
"""Protocols of groups, which are compared with each other."""

CONNECTOR = "its connector"
"""Our Spark connector without the rest of our pipelines."""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    unit: str
    values: Mapping[str, float]
    """By contender."""
    at_most: float | None = None
    """What Barnabas has promised, in the row's unit."""
    at_most_ratio: float | None = None
    """What Barnabas has promised, as a multiple of the value that it is compared with."""
    at_least_ratios: Mapping[str, float] = field(default_factory=dict)
    """The same for figures that shall be high, by contender."""

    @property
    def _pair(self) -> tuple[str, str]:
        if self.at_least_ratios:
            return BARNABAS, next(iter(self.at_least_ratios))
        ours = CLUSTER if CLUSTER in self.values else BARNABAS
        return ours, BASELINE if ours == CLUSTER or BASELINE in self.values else BARE

    @property
    def ratio(self) -> float | None:
        """Barnabas compared with the bare broker, or with the baseline of the row."""
        ours, other = self._pair
        if not self.values.get(other) or ours not in self.values:
            return None
        return self.values[ours] / self.values[other]

    @property
    def kept(self) -> bool | None:
        """Whether the promise is kept; None if there is none."""
        if self.at_most is not None:
            return self.values[self._pair[0]] <= self.at_most
        if self.at_most_ratio is not None and self.ratio is not None:
            return self.ratio <= self.at_most_ratio
        return not self.missed if self.at_least_ratios else None

    @property
    def missed(self) -> list[str]:
        """With whom of those that it promises to outdo Barnabas does not keep up."""
        return [
            name
            for name, ratio in self.at_least_ratios.items()
            if self.values.get(BARNABAS, 0) < ratio * self.values.get(name, 0)
        ]


Values = dict[str, float]
Run = Callable[[Contender], Values]


@dataclass
class Bench:
    """What every measurement gets."""

    contenders: list[Contender]
    quick: bool
    console: Console
    partitions: int = 100
    """Of clusters that nodes are added to."""
    megabytes: int = 200
    """That they hold."""
    patience_s: float = 1_800.0
    """How long a step of these may last."""
    rounds: int = field(init=False)

    def __post_init__(self) -> None:
        self.rounds = 1 if self.quick else 3

    def alternate(self, what: str, run: Run, rounds: int | None = None) -> dict[str, Values]:
        """Run for each contender in turn; the medians of each number it gives, by contender."""
        rounds = rounds or self.rounds
        seen: dict[str, dict[str, list[float]]] = {}
        for number in range(1, rounds + 1):
            for contender in self.contenders:
                with self.console.status(f"{what}, round {number} of {rounds}: {contender.name}"):
                    values = run(contender)
                shown = ", ".join(f"{key} {value:.4g}" for key, value in values.items())
                self.console.print(f"  [dim]{what}: {contender.name}: {shown}[/]", highlight=False)
                for key, value in values.items():
                    seen.setdefault(key, {}).setdefault(contender.name, []).append(value)
        return {
            key: {name: median(numbers) for name, numbers in by_name.items()}
            for key, by_name in seen.items()
        }

    def only(self, *names: str) -> "Bench":
        """The same with fewer contenders."""
        return Bench([c for c in self.contenders if c.name in names], self.quick, self.console)
