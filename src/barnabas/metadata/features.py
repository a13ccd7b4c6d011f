"""Features of a cluster, and the level at which each is in force.

A level is what all nodes have agreed to write. A node of a new release supports a range of levels;
the level itself stays until it is raised, so that nodes can go back to the release before. Records
and fields that an older release can't read are written from their level on, never before.

`metadata.version` has Kafka's numbers, so that its tools print a name:

    29  4.2-IV1  clusters of releases that knew no levels; no record says so
    30  4.3-IV0  FeatureLevelRecord; registrations of brokers have the ranges they support

The other features are those by which clients learn what brokers can do. They have one level each.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from barnabas.wire.messages.metadata_records import FeatureLevelRecord

METADATA_VERSION: Final = "metadata.version"


class MetadataVersion(IntEnum):
    """The levels of `metadata.version` that this release knows, by what each adds."""

    FIRST = 29
    FEATURE_LEVELS = 30


class FeatureRange(NamedTuple):
    """The levels of a feature that a node supports."""

    oldest: int
    newest: int

    def __str__(self) -> str:
        return str(self.oldest) if self.oldest == self.newest else f"{self.oldest}-{self.newest}"


FeatureRanges = Mapping[str, FeatureRange]

FIRST_LEVELS: Final[Mapping[str, int]] = {
    METADATA_VERSION: MetadataVersion.FIRST,
    "kraft.version": 1,
    "transaction.version": 2,
    "group.version": 1,
    "share.version": 1,
}
"""What is in force without any record. A feature that is not here is off then, at level 0."""

SUPPORTED: Final[FeatureRanges] = {
    name: FeatureRange(level, level) for name, level in FIRST_LEVELS.items()
} | {METADATA_VERSION: FeatureRange(MetadataVersion.FIRST, max(MetadataVersion))}
"""What this release supports."""

BEFORE_FEATURES: Final[FeatureRanges] = {
    METADATA_VERSION: FeatureRange(MetadataVersion.FIRST, MetadataVersion.FIRST)
}
"""What a node supports that registers without any ranges: its release knew none."""


@dataclass(slots=True)
class FeaturesImage:
    """The levels that were set; only `replay` changes them."""

    levels: dict[str, int] = field(default_factory=dict)

    def replay(self, record: FeatureLevelRecord) -> None:
        self.levels[record.name] = record.feature_level

    def clear(self) -> None:
        self.levels.clear()

    def copy(self) -> "FeaturesImage":
        return FeaturesImage(self.levels.copy())

    def records(self) -> Iterable[FeatureLevelRecord]:
        return (FeatureLevelRecord(name, level) for name, level in self.levels.items())

    def in_force(self) -> dict[str, int]:
        """Every feature with its level."""
        return {**FIRST_LEVELS, **self.levels}

    def level(self, name: str) -> int:
        return self.levels.get(name, FIRST_LEVELS.get(name, 0))

    @property
    def metadata_version(self) -> int:
        return self.level(METADATA_VERSION)

    def unsupported_by(self, ranges: FeatureRanges) -> str | None:
        """Why a node that supports `ranges` can't be in this cluster."""
        for name, level in self.levels.items():
            supported = ranges.get(name, FeatureRange(0, 0))
            if not supported.oldest <= level <= supported.newest:
                return f"{name} of the cluster is {level}, and the node supports {supported}"
        return None
