"""A flow with all that its driver does beside it."""

from dataclasses import dataclass, field

from barnabas.mirror.flow import Flow
from barnabas.mirror.groups.group_settings import GroupSettings


@dataclass(frozen=True)
class ConfiguredFlow:
    """As an option or a file describes it."""

    flow: Flow
    groups: GroupSettings = field(default_factory=GroupSettings)
