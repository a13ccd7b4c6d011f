"""Quotas so low that a client stands still."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, note

_LOWEST = {"producer_byte_rate": 1_024.0, "consumer_byte_rate": 1_024.0, "request_percentage": 0.1}


def choking(facts: Facts) -> Iterator[Finding]:
    for quota in facts.quotas:
        for name, value in sorted(quota.limits.items()):
            if value < _LOWEST.get(name, 0):
                yield note(
                    "quotas",
                    f"{name}={value:g} of {quota.entity} lets almost nothing through",
                    "see who has which quota: barnabas quotas list; then barnabas quotas set",
                )
