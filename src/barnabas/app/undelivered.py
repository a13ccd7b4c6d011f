"""Results that were not delivered: because of themselves, or because of the cluster.

A result that is too large, that a topic refuses, or whose topic does not exist is a failure of the
record that it comes from, as an exception of the handler is. What would hit any other result as
well, such as brokers that do not answer, is not: the handler waits or stops, and the record is read
again. `consequences` has the table.
"""

from collections.abc import Iterable
from typing import Any

from barnabas.client.consequences import Consequence, consequence_of
from barnabas.client.producer.sent_record import Delivery
from barnabas.errors import BarnabasError


class SinkFailed(Exception):  # noqa: N818 - it never leaves the application
    """Nothing can be sent; `error` is why."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def is_of_record(error: BaseException) -> bool:
    """Whether a result was refused because of what it is, or where it should go."""
    return consequence_of(error) is Consequence.GIVES_UP


async def delivered(receipts: Iterable[Any]) -> list[Delivery]:
    """Where all were stored, once each of them is or is refused; raises what counts most."""
    found: list[Delivery] = []
    failures: list[BarnabasError] = []
    for each in receipts:
        try:
            found.append(await each)
        except BarnabasError as error:
            failures.append(error)
    if failures:
        raise worst_of(failures)
    return found


def worst_of(failures: Iterable[BarnabasError]) -> BarnabasError:
    """That of the producer counts more than that of a record."""
    return min(failures, key=is_of_record)
