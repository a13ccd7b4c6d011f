"""The topic of requests."""

from barnabas.flow.requests import CONFIGS


def test_requests_are_kept_no_longer_than_retention_says() -> None:
    """The doctor warns of topics whose segments are older than that."""
    assert int(CONFIGS["segment.ms"]) <= int(CONFIGS["retention.ms"])
