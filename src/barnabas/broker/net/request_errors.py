"""Errors in answers, by API and error code.

Codecs note the error codes that they write (`Writer.errors`), so an answer without an error costs
nothing here, however many partitions it has.
"""

from collections import Counter


class RequestErrors:
    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: Counter[tuple[int, int]] = Counter()
        """By API key and error code. As in Kafka, each error in an answer counts: one for each
        partition that failed, for instance."""

    def add(self, api_key: int, codes: list[int]) -> None:
        for code in codes:
            self.counts[api_key, code] += 1
