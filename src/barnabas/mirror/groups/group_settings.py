"""Which groups are mirrored, and how often."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.errors import InvalidArgument

DEFAULT_EXCLUDED_GROUPS = ("console-consumer-.*", "connect-.*", "__.*")
"""Those that Mirror Maker 2 leaves out."""


@dataclass(frozen=True)
class GroupSettings:
    """Mirror Maker's names of settings are in parentheses."""

    include: tuple[str, ...] = (".*",)
    """Names or regular expressions of whole names (`groups`)."""
    exclude: tuple[str, ...] = DEFAULT_EXCLUDED_GROUPS
    """(`groups.exclude`)."""
    commit: bool = True
    """Commit offsets in the target (`sync.group.offsets.enabled`)."""
    emit_checkpoints: bool = True
    """Write checkpoints (`emit.checkpoints.enabled`)."""
    emit_heartbeats: bool = True
    """Write heartbeats (`emit.heartbeats.enabled`)."""
    interval_s: float = 1.0
    """How often groups are looked at (`sync.group.offsets.interval.seconds`)."""
    _patterns: tuple[re.Pattern[str], re.Pattern[str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.interval_s <= 0:
            raise InvalidArgument(f"groups every {self.interval_s} s: use a time above 0")
        patterns = _any_of(self.include), _any_of(self.exclude)
        object.__setattr__(self, "_patterns", patterns)

    def includes(self, group_id: str) -> bool:
        """Whether a group is mirrored. Those of flows never are."""
        included, excluded = self._patterns
        return (
            bool(included.fullmatch(group_id))
            and not excluded.fullmatch(group_id)
            and not is_of_mirror(group_id)
        )


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    for each in patterns:
        try:
            re.compile(each)
        except re.error as error:
            raise InvalidArgument(f"groups {each!r}: {error}") from error
    return re.compile("|".join(f"(?:{each})" for each in patterns) or r"(?!)")
