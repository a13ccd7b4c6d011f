"""What a queue does with each error code that keeps it from its group: it waits, or raises."""

import asyncio

import pytest

from barnabas.aio import Queue
from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.consequences import Consequence, consequence_of_code
from barnabas.errors import BarnabasError, BrokerError, NobodyListens
from barnabas.wire.errors import ErrorCode

CODES = [each for each in ErrorCode if each is not ErrorCode.NONE]


async def attempts_after(error: BarnabasError) -> int:
    """How often a queue tries to join that fails once; raises what its loop raises."""
    queue = Queue("127.0.0.1:1", "jobs", group="g")
    attempts = 0

    async def join() -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise error
        queue.stop()
        await asyncio.Event().wait()

    queue._core._join_and_stay = join  # type: ignore[method-assign]
    async with queue:
        assert [job async for job in queue] == []
    return attempts


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_a_queue_waits_for_what_mends_itself(code: ErrorCode) -> None:
    error = broker_error(code, "group g")
    if consequence_of_code(code) is Consequence.WAITS:
        assert asyncio.run(attempts_after(error)) == 2
    else:  # there is no record to give up
        with pytest.raises(BrokerError) as raised:
            asyncio.run(attempts_after(error))
        assert raised.value.code is code


def test_a_queue_waits_for_brokers_at_its_start() -> None:
    assert asyncio.run(attempts_after(NobodyListens("connection refused"))) == 2
