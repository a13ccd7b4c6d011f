"""Lanes, grants and settlements: nothing is lost, and room comes back, whatever happens."""

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.accumulator import Accumulator
from barnabas.client.producer.pending_batch import PendingBatch
from barnabas.client.producer.send_buffer import SendBuffer
from barnabas.client.producer.sent_record import Sent
from barnabas.errors import BarnabasError, WaitsForItself
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch, max_record_size, pack_records
from barnabas.records.record import Row
from tests.support.wait import LIMIT_S

FIRST = TopicPartition("t", 0)
LATER = 1e9


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


def accumulator(
    *,
    batch_bytes: int = 500,
    batch_records: int | None = None,
    buffer_bytes: int = 3_000,
    linger_ms: float = 5,
) -> Accumulator:
    return Accumulator(
        batch_bytes=batch_bytes,
        batch_records=batch_records,
        buffer_bytes=buffer_bytes,
        linger_ms=linger_ms,
        delivery_timeout_ms=60_000,
        gate=lambda: None,
        on_close=lambda _partition: None,
    )


def add(
    to: Accumulator, value: bytes, partition: TopicPartition = FIRST
) -> tuple[Sent, PendingBatch]:
    row: Row = (1, None, value, ())
    added = to.add(partition, row, max_record_size(None, value))
    assert added is not None
    return added


@given(st.data())
def test_whatever_happens_to_batches_every_record_ends_once_and_room_comes_back(
    data: st.DataObject,
) -> None:
    async def main() -> None:
        records = data.draw(st.sampled_from([None, 1, 2, 5]))
        accumulating = accumulator(batch_records=records)
        accumulating.start()
        sent: list[tuple[bytes, Sent]] = []
        arrived: dict[TopicPartition, list[bytes]] = {}
        under_way = []
        for number in range(data.draw(st.integers(1, 60))):
            match data.draw(st.sampled_from(["add", "add", "add", "take", "end", "split", "fail"])):
                case "add":
                    value = b"%d," % number * data.draw(st.integers(1, 100))
                    partition = TopicPartition("t", data.draw(st.integers(0, 2)))
                    row: Row = (1, None, value, ())
                    added = accumulating.add(partition, row, max_record_size(None, value))
                    if added is not None:
                        sent.append((value, added[0]))
                        assert added[1].granted <= max(500, 61 + max_record_size(None, value))
                    else:
                        assert accumulating.buffer._taken > 0
                case "take":
                    under_way += accumulating.take_ready(LATER)
                case "end" if under_way:
                    deliver(accumulating, under_way.pop(0), arrived)
                case "split" if under_way and under_way[0].first.count > 1:
                    queue = under_way.pop(0)
                    queue.encode(Compression.NONE)
                    accumulating.split_first(queue)
                    queue.in_flight = None
                case "fail" if under_way:
                    queue = under_way.pop(0)
                    accumulating.take_first(queue).given_up(BarnabasError("as asked"))
                    queue.in_flight = None
                case _:
                    pass
            live = [b for queue in accumulating._queues.values() for b in queue.batches]
            assert accumulating.buffer._taken == sum(batch.granted for batch in live)
            assert all(batch.size <= batch.granted for batch in live)
        while under_way or (under_way := accumulating.take_ready(LATER)):
            deliver(accumulating, under_way.pop(0), arrived)
        assert accumulating.buffer._taken == 0
        ended = {}
        for value, each in sent:
            assert each.done()
            if each.exception() is None:
                delivery = each.result()
                assert arrived[each.batch.partition][delivery.offset] == value
                ended.setdefault(each.batch.partition, []).append(delivery.offset)
        for partition, offsets in ended.items():
            assert offsets == sorted(offsets)
            assert len(offsets) == len(arrived[partition])

    run(main())


def deliver(
    accumulating: Accumulator, queue: Any, arrived: dict[TopicPartition, list[bytes]]
) -> None:
    values = arrived.setdefault(queue.partition, [])
    records = decode_batch(queue.encode(Compression.NONE))
    accumulating.take_first(queue).delivered(len(values), -1)
    queue.in_flight = None
    values += [record.value or b"" for record in records]


def test_a_batch_leaves_when_it_is_full_old_or_wanted() -> None:
    async def main() -> None:
        accumulating = accumulator(linger_ms=1_000)
        accumulating.start()
        _, batch = add(accumulating, b"x")
        assert accumulating.take_ready(batch.created_at + 0.9) == []
        (queue,) = accumulating.take_ready(batch.created_at + 1.1)
        assert queue.partition == FIRST
        _, second = add(accumulating, b"y")
        assert accumulating.take_ready(second.created_at + 1.1) == []  # the first is under way
        accumulating.take_first(queue).delivered(0, -1)
        assert accumulating.take_ready(second.created_at + 1.1) == []  # its attempt has not ended
        queue.in_flight = None
        waiting = asyncio.ensure_future(second.result.future())
        assert accumulating.take_ready(second.created_at) == [queue]  # a caller waits
        accumulating.take_first(queue).delivered(1, -1)
        queue.in_flight = None
        await waiting
        _, third = add(accumulating, bytes(300))
        assert accumulating.take_ready(third.created_at) == []
        add(accumulating, bytes(300))
        assert accumulating.take_ready(third.created_at) == [queue]  # no room for another

    run(main())


def test_a_batch_with_all_its_records_leaves() -> None:
    async def main() -> None:
        accumulating = accumulator(batch_records=3, linger_ms=1_000)
        accumulating.start()
        _, batch = add(accumulating, b"x")
        assert batch.add(1, None, b"y", ()) is not None
        assert batch.add(1, None, b"z", ()) is None
        assert accumulating.take_ready(batch.created_at) == []
        add(accumulating, b"z")
        assert len(accumulating.take_ready(batch.created_at)) == 1
        assert batch.count == 3

    run(main())


def test_everything_leaves_while_somebody_waits_for_room() -> None:
    async def main() -> None:
        accumulating = accumulator(linger_ms=1_000_000)
        accumulating.start()
        _, batch = add(accumulating, b"x")
        assert accumulating.take_ready(batch.created_at) == []
        waiting = asyncio.create_task(accumulating.buffer.wait(again=False))
        await asyncio.sleep(0)
        assert len(accumulating.take_ready(batch.created_at)) == 1
        await waiting

    run(main())


def test_packed_batches_keep_their_place() -> None:
    async def main() -> None:
        accumulating = accumulator()
        accumulating.start()
        before, _ = add(accumulating, b"before")
        packed = pack_records([(1, None, b"packed", ()), (1, None, b"too", ())])
        batch = accumulating.add_packed(FIRST, packed)
        assert batch is not None
        after, _ = add(accumulating, b"after")
        arrived: dict[TopicPartition, list[bytes]] = {}
        for _ in range(3):
            (queue,) = accumulating.take_ready(LATER)
            deliver(accumulating, queue, arrived)
        assert arrived[FIRST] == [b"before", b"packed", b"too", b"after"]
        assert (before.result().offset, after.result().offset) == (0, 3)
        assert batch.result.outcome_of(1).base_offset == 1
        assert accumulating.buffer._taken == 0

    run(main())


def test_a_batch_is_the_same_on_the_wire_for_all_attempts() -> None:
    async def main() -> None:
        accumulating = accumulator()
        accumulating.start()
        add(accumulating, b"x")
        (queue,) = accumulating.take_ready(LATER)
        first = bytes(queue.encode(Compression.NONE))
        queue.next_sequence = 7
        assert queue.encode(Compression.NONE) == first == encode_batch([(1, None, b"x", ())])

    run(main())


def test_who_has_waited_for_room_comes_first() -> None:
    async def main() -> None:
        buffer = SendBuffer(100)
        assert buffer.take(60, 60, in_turn=False) == 60
        assert buffer.take(60, 60, in_turn=False) == 0
        turns: list[int] = []

        async def wait(number: int) -> None:
            await buffer.wait(again=False)
            turns.append(number)

        tasks = [asyncio.create_task(wait(number)) for number in range(3)]
        await asyncio.sleep(0)
        buffer.give_back(60)
        assert buffer.take(60, 60, in_turn=False) == 0  # it would overtake
        tasks[0].cancel()
        await asyncio.sleep(0)
        buffer.call_next()
        await tasks[1]
        assert turns == [1]
        assert buffer.take(60, 60, in_turn=True) == 60
        buffer.call_next()
        await tasks[2]
        assert turns == [1, 2]
        assert not buffer.is_pressing

    run(main())


def test_what_is_larger_than_the_buffer_goes_alone() -> None:
    buffer = SendBuffer(100)
    assert buffer.take(1, 1, in_turn=False) == 1
    assert buffer.take(1_000, 1_000, in_turn=False) == 0
    buffer.give_back(1)
    assert buffer.take(1_000, 1_000, in_turn=False) == 1_000
    assert buffer.take(1, 1, in_turn=False) == 0


def test_threads_loops_and_callbacks_hear_of_the_end() -> None:
    async def main() -> None:
        accumulating = accumulator()
        accumulating.start()
        sent, _ = add(accumulating, b"x")
        heard: list[object] = []
        threads = [
            Thread(target=lambda: heard.append(sent.result(LIMIT_S).offset)),
            Thread(target=lambda: heard.append(asyncio.run(offset_of(sent)))),
        ]
        for thread in threads:
            thread.start()
        sent.add_done_callback(heard.append)
        cancelled = asyncio.create_task(offset_of(sent))
        here = asyncio.create_task(offset_of(sent))
        await asyncio.sleep(0.01)
        cancelled.cancel()
        with pytest.raises(WaitsForItself):
            sent.result()
        with pytest.raises(TimeoutError):
            await asyncio.to_thread(sent.result, 0.01)
        (queue,) = accumulating.take_ready(LATER)
        assert heard == []
        accumulating.take_first(queue).delivered(5, -1)
        assert await here == 5
        for thread in threads:
            await asyncio.to_thread(thread.join)
        assert sorted(map(str, heard)) == sorted(["5", "5", str(sent)])
        sent.add_done_callback(heard.append)
        assert heard[-1] is sent

    run(main())


async def offset_of(sent: Sent) -> int:
    return (await sent).offset
