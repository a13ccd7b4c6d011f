"""The settings of one consumer group: its own, within the bounds of the broker, or the broker's."""

from collections.abc import Mapping

from barnabas.broker.coordinator.share_group_settings import bounded_value
from barnabas.broker.settings.component_settings import ConsumerGroupSettings
from barnabas.broker.settings.group_limits import consumer_group_limits
from barnabas.groups.config import ModernGroupSettings


def consumer_member_settings(
    consumer: ConsumerGroupSettings, own: Mapping[str, str]
) -> ModernGroupSettings:
    """What the group's coordinator goes by."""
    if not own:
        return ModernGroupSettings(
            session_timeout_ms=consumer.session_timeout_ms,
            heartbeat_interval_ms=consumer.heartbeat_interval_ms,
            assignment_interval_ms=consumer.assignment_interval_ms,
        )
    limits = consumer_group_limits(consumer)
    session, heartbeat, assignment = (
        bounded_value(own, name, *limits[name])
        for name in (
            "consumer.session.timeout.ms",
            "consumer.heartbeat.interval.ms",
            "consumer.assignment.interval.ms",
        )
    )
    return ModernGroupSettings(session, heartbeat, assignment)
