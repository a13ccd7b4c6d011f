"""The windows over which a client's rate is measured are those of the settings."""

import pytest

from barnabas.broker.quotas.client_quotas import ClientQuotas
from barnabas.broker.settings.config import BrokerConfig


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 10),
        ({"quota.window.size.seconds": "2"}, 20),
        ({"quota.window.num": "6", "quota.window.size.seconds": "3"}, 15),
    ],
)
def test_a_burst_is_spread_over_all_windows_but_the_current_one(
    settings: dict[str, str], seconds: int
) -> None:
    quotas = ClientQuotas(lambda: 5_000, lambda: 5.0, BrokerConfig(settings).quotas)
    quotas.apply({(("user", "ann"),): {"producer_byte_rate": 100.0}})
    client = quotas.client("ann", b"app")
    assert client is not None
    assert client.produced(100 * seconds, 5_000) == 0, "what the bound allows in that time"
    assert client.produced(50 * seconds, 5_000) == 500 * seconds
    (usage,) = quotas.usage()
    assert usage.per_second == 150
