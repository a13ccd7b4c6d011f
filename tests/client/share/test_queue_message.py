"""A message is settled once; it says where it is from, and why it is a dead letter."""

import asyncio

import pytest

from barnabas.client.producer.dead_letters import letter_headers
from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.queue_message import Acknowledgement
from barnabas.errors import InvalidArgument, LockLost
from tests.client.share.support import Settled, locked


def test_a_message_is_settled_once() -> None:
    core = Settled()
    message = locked(5, core=core)
    message.renew()
    message.accept()
    for again in (message.accept, message.release, message.reject, message.renew):
        with pytest.raises(InvalidArgument, match="offset 5 of jobs-0 was accepted, released"):
            again()
    assert [kind for _, kind, *_ in core.calls] == [AcknowledgeType.RENEW, AcknowledgeType.ACCEPT]


def test_a_block_accepts_or_releases() -> None:
    core = Settled()
    with locked(1, core=core):
        pass
    with pytest.raises(RuntimeError), locked(2, core=core):
        raise RuntimeError
    with locked(3, core=core) as message:
        message.reject("no use")
    assert [call[:2] for call in core.calls] == [
        (1, AcknowledgeType.ACCEPT),
        (2, AcknowledgeType.RELEASE),
        (3, AcknowledgeType.REJECT),
    ]


def test_an_answer_is_waited_for_by_threads_and_tasks() -> None:
    answered, lost = Acknowledgement(), Acknowledgement()
    answered.finish(None)
    lost.finish(LockLost("gone"))
    assert answered.result(0) is None

    async def main() -> None:
        await answered
        with pytest.raises(LockLost):
            await lost
        waiting = Acknowledgement()
        task = asyncio.ensure_future(_wait(waiting))
        await asyncio.sleep(0)
        task.cancel()  # whoever gives up waiting does not cancel the acknowledgement
        await asyncio.gather(task, return_exceptions=True)
        assert not waiting.done()
        waiting.finish(None)
        assert waiting.exception(0) is None

    asyncio.run(main())


async def _wait(answer: Acknowledgement) -> None:
    await answer


def test_a_dead_letter_says_why_and_where_from() -> None:
    before = (("trace", b"7"), ("dead-letter.reason", b"of an earlier life"))
    message = locked(42, delivery_count=4, headers=before)
    assert letter_headers(message.record, "workers", "ValueError: no", message.delivery_count) == [
        ("trace", b"7"),
        ("dead-letter.topic", b"jobs"),
        ("dead-letter.partition", b"0"),
        ("dead-letter.offset", b"42"),
        ("dead-letter.timestamp", b"1970-01-01T00:00:10.123Z"),
        ("dead-letter.reason", b"ValueError: no"),
        ("dead-letter.group", b"workers"),
        ("dead-letter.deliveries", b"4"),
    ]
