"""Rates of addresses, of which there may be many."""

from barnabas.broker.quotas.connection_rates import ConnectionRates
from barnabas.broker.settings.component_settings import QuotaSettings
from barnabas.metadata.client_quotas_image import IP
from barnabas.security.quotas.precedence import QuotaLimits


def test_many_addresses_are_not_looked_at_for_each_new_one() -> None:
    now = [0.0]
    rates = ConnectionRates(lambda: now[0], QuotaSettings(11, 1, 11, 1, 11, 1))
    rates.limits = QuotaLimits({((IP, None),): {"connection_creation_rate": 5.0}})
    rebuilt, before = 0, rates._rates
    for number in range(10_000):
        assert rates.connected(f"10.0.{number // 256}.{number % 256}") == 0.0
        rebuilt += rates._rates is not before
        before = rates._rates
    assert rebuilt <= 5
    assert rates.connected("10.0.0.1") == 0.0
    now[0] = 3_600.0
    for number in range(10_000):
        rates.connected(f"11.0.{number // 256}.{number % 256}")
    assert len(rates._rates) <= 20_000, "the old ones are forgotten"
