"""The limits of requests, compared with the APIs that a node serves and with the documentation."""

from pathlib import Path

from barnabas.broker.routes import routes
from barnabas.wire.request_limits import LIMITS, RequestLimits, limits_of

_PAGE = Path(__file__).parents[2] / "docs/running-a-broker.md"


def test_each_limit_is_of_a_request_that_is_served() -> None:
    assert set(LIMITS) <= {route.request_type.__name__ for route in routes()}


def test_no_entry_repeats_the_defaults() -> None:
    assert RequestLimits() not in LIMITS.values()


def test_only_requests_with_records_may_have_any_size() -> None:
    for route in routes():
        assert (limits_of(route.request_type).size > 100 << 20) == route.has_records


def test_the_documentation_names_each_limit_of_elements() -> None:
    (row,) = (
        line for line in _PAGE.read_text().splitlines() if line.startswith("| array elements and")
    )
    for route in routes():
        limits = limits_of(route.request_type)
        assert f"{limits.elements:,}" in row
        assert limits.peer_elements in (100_000, 1_000_000)
