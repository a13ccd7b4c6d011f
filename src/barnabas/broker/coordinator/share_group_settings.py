"""The settings of one share group: its own, within the bounds of the broker, or the broker's."""

from collections.abc import Mapping

from barnabas.broker.settings.component_settings import ShareSettings
from barnabas.groups.config import ModernGroupSettings
from barnabas.metadata.group_configs import GROUP_CONFIGS


def group_value(own: Mapping[str, str], name: str) -> object:
    """A group's setting that the brokers have no default for."""
    config = GROUP_CONFIGS[name]
    return config.parse(own.get(name, config.default))


def bounded_value(own: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    """The group's value, within the bounds of the broker as they are now."""
    text = own.get(name)
    if text is None:
        return default
    value = GROUP_CONFIGS[name].parse(text)
    assert isinstance(value, int)
    return min(max(value, low), high)


def share_member_settings(shares: ShareSettings, own: Mapping[str, str]) -> ModernGroupSettings:
    """What the group's coordinator goes by."""
    return ModernGroupSettings(
        session_timeout_ms=bounded_value(
            own,
            "share.session.timeout.ms",
            shares.session_timeout_ms,
            shares.min_session_timeout_ms,
            shares.max_session_timeout_ms,
        ),
        heartbeat_interval_ms=bounded_value(
            own,
            "share.heartbeat.interval.ms",
            shares.heartbeat_interval_ms,
            shares.min_heartbeat_interval_ms,
            shares.max_heartbeat_interval_ms,
        ),
        assignment_interval_ms=bounded_value(
            own,
            "share.assignment.interval.ms",
            shares.assignment_interval_ms,
            shares.min_assignment_interval_ms,
            shares.max_assignment_interval_ms,
        ),
    )
