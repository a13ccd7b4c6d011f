"""The limits within which the settings of consumer groups have to be."""

from typing import NamedTuple

from barnabas.broker.settings.component_settings import ConsumerGroupSettings
from barnabas.metadata.config_values import InvalidConfigError


class Limits(NamedTuple):
    """What a setting is by default, and what a group may set it to."""

    default: int
    low: int
    high: int


def consumer_group_limits(settings: ConsumerGroupSettings) -> dict[str, Limits]:
    """By the name of the group's setting, such as `consumer.session.timeout.ms`."""
    return {
        "consumer.session.timeout.ms": Limits(
            settings.session_timeout_ms,
            settings.min_session_timeout_ms,
            settings.max_session_timeout_ms,
        ),
        "consumer.heartbeat.interval.ms": Limits(
            settings.heartbeat_interval_ms,
            settings.min_heartbeat_interval_ms,
            settings.max_heartbeat_interval_ms,
        ),
        "consumer.assignment.interval.ms": Limits(
            settings.assignment_interval_ms,
            settings.min_assignment_interval_ms,
            settings.max_assignment_interval_ms,
        ),
    }


def check_consumer_groups(settings: ConsumerGroupSettings) -> None:
    """Raises `InvalidConfigError` if a default is outside of its limits."""
    for name, (value, low, high) in consumer_group_limits(settings).items():
        _, _, rest = name.partition(".")
        if not low <= value <= high:
            raise InvalidConfigError(
                f"group.consumer.{rest} is {value}, must be between group.consumer.min.{rest}, "
                f"which is {low}, and group.consumer.max.{rest}, which is {high}"
            )
    if settings.heartbeat_interval_ms >= settings.session_timeout_ms:
        raise InvalidConfigError(
            f"group.consumer.heartbeat.interval.ms is {settings.heartbeat_interval_ms}, must be "
            f"less than group.consumer.session.timeout.ms, which is {settings.session_timeout_ms}"
        )
