"""Which records are being handled: a partition is given away when none of it is."""

import asyncio
from typing import Any, cast

from barnabas import App, Message, TopicPartition
from barnabas.app.runners.keyed_work import KeyedWork
from barnabas.app.runners.record_runner import RecordRunner

FIRST = Message("orders", 0, 0, 0, b"a", b"")
PARTITION = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)


def test_a_record_is_being_handled_from_the_moment_it_is_taken() -> None:
    work = KeyedWork()
    work.add([FIRST, FIRST._replace(offset=1)])
    assert not work.is_handling()
    assert work.next() is FIRST
    assert (work.is_handling(), work.is_handling([PARTITION])) == (True, True)
    assert not work.is_handling([OTHER])
    following = work.finish_and_next(FIRST)
    assert following is not None
    assert work.is_handling([PARTITION])
    work.abandon(following)
    assert (work.is_handling(), work.size) == (False, 1)


def test_partitions_are_given_away_when_what_a_worker_has_just_taken_is_done() -> None:
    class Sink:
        async def flush(self) -> None: ...

    class Nothing:
        is_plain = True
        sink = Sink()

    async def main() -> None:
        app = App()
        app.handler("orders", group="g", concurrency=2)(lambda order: None)
        (handler,) = app.handlers.values()
        nothing = cast("Any", Nothing())
        nothing.done = print
        runner = RecordRunner(handler, nothing, nothing, None)
        runner._work.add([FIRST])
        assert runner._work.next() is FIRST  # the worker has not told yet that it is its own
        revoked = asyncio.ensure_future(runner.revoked([PARTITION]))
        await asyncio.wait([revoked], timeout=0.1)
        assert not revoked.done()
        runner._work.finish(FIRST)
        await revoked

    asyncio.run(main())
