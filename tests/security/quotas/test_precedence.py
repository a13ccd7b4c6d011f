"""Which limit holds for whom, and who shares it."""

import pytest

from barnabas.metadata.client_quotas_image import CLIENT_ID, IP, USER, quota_entity
from barnabas.security.quotas.precedence import QuotaLimit, QuotaLimits
from barnabas.security.quotas.quota_key import InvalidQuota, QuotaKey, allowed_keys

RATE = QuotaKey.PRODUCER_BYTE_RATE

LEVELS = [
    ([(USER, "ann"), (CLIENT_ID, "app")], ("ann", "app")),
    ([(USER, "ann"), (CLIENT_ID, None)], ("ann", "app")),
    ([(USER, "ann")], ("ann", None)),
    ([(USER, None), (CLIENT_ID, "app")], ("ann", "app")),
    ([(USER, None), (CLIENT_ID, None)], ("ann", "app")),
    ([(USER, None)], ("ann", None)),
    ([(CLIENT_ID, "app")], (None, "app")),
    ([(CLIENT_ID, None)], (None, "app")),
]
"""From the first to the last; and who shares the limit of each with user ann and client id app."""


@pytest.mark.parametrize("first", range(len(LEVELS)))
def test_the_most_specific_limit_holds(first: int) -> None:
    quotas = {
        quota_entity(parts): {RATE.key: float(level)}
        for level, (parts, _) in reversed(list(enumerate(LEVELS)))
        if level >= first
    }
    found = QuotaLimits(quotas).of_client(RATE, "ann", "app")
    assert found == QuotaLimit(first, LEVELS[first][1])


def test_others_have_no_limit() -> None:
    quotas = {quota_entity(LEVELS[level][0]): {RATE.key: 1.0} for level in (0, 1, 2)}
    assert QuotaLimits(quotas).of_client(RATE, "bob", "app") is None
    quotas = {quota_entity(LEVELS[6][0]): {RATE.key: 1.0}}
    assert QuotaLimits(quotas).of_client(RATE, "ann", "other") is None
    assert QuotaLimits({}).of_client(RATE, "ann", "app") is None


def test_a_client_without_an_id_has_the_limits_of_its_user_and_the_defaults() -> None:
    user = {quota_entity([(USER, "ann")]): {RATE.key: 1.0}}
    assert QuotaLimits(user).of_client(RATE, "ann", "") == QuotaLimit(1, ("ann", None))
    default = {quota_entity([(CLIENT_ID, None)]): {RATE.key: 1.0}}
    assert QuotaLimits(default).of_client(RATE, "ann", "") == QuotaLimit(1, (None, ""))


def test_each_key_has_its_own_precedence() -> None:
    limits = QuotaLimits(
        {
            quota_entity([(USER, "ann")]): {QuotaKey.CONSUMER_BYTE_RATE.key: 5.0},
            quota_entity([(CLIENT_ID, "app")]): {RATE.key: 7.0},
        }
    )
    assert limits.of_client(RATE, "ann", "app") == QuotaLimit(7, (None, "app"))
    found = limits.of_client(QuotaKey.CONSUMER_BYTE_RATE, "ann", "app")
    assert found == QuotaLimit(5, ("ann", None))


def test_addresses() -> None:
    key = QuotaKey.CONNECTION_CREATION_RATE.key
    limits = QuotaLimits({((IP, "10.0.0.1"),): {key: 3.0}, ((IP, None),): {key: 9.0}})
    assert (limits.of_address("10.0.0.1"), limits.of_address("10.0.0.2")) == (3, 9)
    assert (limits.has_addresses, limits.has_clients) == (True, False)
    assert QuotaLimits({}).of_address("10.0.0.1") is None


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (QuotaKey.PRODUCER_BYTE_RATE, 0.0, "Quota producer_byte_rate must be greater than 0"),
        (QuotaKey.PRODUCER_BYTE_RATE, -1.0, "must be greater than 0"),
        (QuotaKey.REQUEST_PERCENTAGE, float("nan"), "must be greater than 0"),
        (QuotaKey.CONSUMER_BYTE_RATE, 1.5, "consumer_byte_rate cannot be a fractional value."),
        (QuotaKey.CONSUMER_BYTE_RATE, 1e19, "is too large for a LONG"),
        (QuotaKey.CONNECTION_CREATION_RATE, 2.0**31, "is too large for an INT"),
    ],
)
def test_values_that_are_refused(key: QuotaKey, value: float, why: str) -> None:
    with pytest.raises(InvalidQuota, match=why):
        key.check(value)


def test_values_that_are_accepted() -> None:
    QuotaKey.PRODUCER_BYTE_RATE.check(1024.0)
    QuotaKey.REQUEST_PERCENTAGE.check(0.5)
    QuotaKey.CONTROLLER_MUTATION_RATE.check(0.1)
    QuotaKey.CONNECTION_CREATION_RATE.check(2.0**31 - 1)


def test_addresses_and_clients_have_different_keys() -> None:
    assert "connection_creation_rate" not in allowed_keys({USER, CLIENT_ID})
    assert allowed_keys({IP}).keys() == {"connection_creation_rate"}
