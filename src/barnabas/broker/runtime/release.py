"""What the software of a node knows. The simulator also runs nodes that know less, like those of an
older release."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.metadata.features import SUPPORTED, FeatureRanges


@dataclass(frozen=True, slots=True)
class Release:
    features: FeatureRanges = field(default_factory=lambda: SUPPORTED)
    newest_versions: Mapping[int, int] = field(default_factory=dict)
    """By API key, where that is not the newest version there is."""

    def newest_version(self, api_key: int, newest: int) -> int:
        return min(newest, self.newest_versions.get(api_key, newest))
