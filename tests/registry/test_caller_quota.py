"""Callers that send too many requests have to wait."""

import pytest

from barnabas.registry.model.errors import RegistryRefusal
from barnabas.registry.rest import caller_quota
from barnabas.registry.rest.caller_quota import CallerQuota
from tests.registry.registry_process import MakeRegistry, record


def passes(quota: CallerQuota, caller: str, now: float) -> bool:
    try:
        quota.take(caller, now)
    except RegistryRefusal:
        return False
    return True


def test_a_burst_of_a_second_passes_and_then_the_rate_counts() -> None:
    quota = CallerQuota(2)
    assert [passes(quota, "ada", 5.0) for _ in range(4)] == [True, True, False, False]
    assert [passes(quota, "bob", 5.0) for _ in range(3)] == [True, True, False]
    assert [passes(quota, "ada", 5.5) for _ in range(2)] == [True, False]
    assert [passes(quota, "ada", 99.0) for _ in range(3)] == [True, True, False]


def test_the_refusal_says_when_to_come_again() -> None:
    quota = CallerQuota(0.1)
    assert passes(quota, "ada", 0.0)
    with pytest.raises(RegistryRefusal, match=r"ada sends more than 0\.1 requests .* in 9 s") as it:
        quota.take("ada", 1.5)
    assert (it.value.code, it.value.retry_after_s) == (42901, 9)


def test_many_callers_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_quota, "_MAX_CALLERS", 2)
    quota = CallerQuota(1)
    assert [passes(quota, each, 0.0) for each in "aab"] == [True, False, True]
    assert passes(quota, "c", 0.0)
    assert not passes(quota, "b", 0.0)
    assert passes(quota, "a", 0.0), "the one that was forgotten"


def test_an_instance_with_a_quota(make_registry: MakeRegistry) -> None:
    registry = make_registry("--requests-per-second", "0.01")
    assert registry.register("s", record("a")) == 1
    refused = registry.call("GET", "/subjects")
    assert refused.status == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 100
    assert isinstance(refused.body, dict)
    assert refused.body["error_code"] == 42901
    assert "127.0.0.1 sends more than 0.01 requests a second" in str(refused.body["message"])
    assert registry.get("/health") == {"status": "healthy"}, "probes are not counted"
