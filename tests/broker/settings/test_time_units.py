"""`log.retention.hours` and its like."""

import pytest

from barnabas.broker.settings.config import BrokerConfig, ConfigError


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.minutes": "-1", "log.retention.hours": "2"}, -1),
    ],
)
def test_the_smallest_unit_counts(given: dict[str, str], retention_ms: int) -> None:
    config = BrokerConfig(given)
    assert config.topic({}).log.retention_ms == retention_ms
    assert config.static == {"log.retention.ms": str(retention_ms)}
    assert not config.without_effect


def test_roll_hours() -> None:
    assert BrokerConfig({"log.roll.hours": "1"}).topic({}).log.segment_ms == 3_600_000
    both = {"log.roll.ms": "5", "log.roll.hours": "1"}
    assert BrokerConfig(both).topic({}).log.segment_ms == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.retention.hours", "x"),
        ("log.retention.minutes", "-2"),
        ("log.retention.hours", "2147483648"),
        ("log.roll.hours", "0"),
    ],
)
def test_bad_times_name_the_setting(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        BrokerConfig({name: value})
