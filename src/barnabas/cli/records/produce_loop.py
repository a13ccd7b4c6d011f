"""The loop of `barnabas produce`: read lines, send records, and report what was sent."""

import asyncio
import sys
from collections.abc import Collection
from contextlib import nullcontext
from time import monotonic

from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import print_json, say
from barnabas.cli.records.input_format import LineError, Parse
from barnabas.cli.records.standard_streams import read_lines
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.delays.delayed_sends import DelayedSends, Send, now_ms
from barnabas.client.producer.batch_completion import DeliveryCount
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.sent_record import Sent
from barnabas.errors import RecordTooLarge
from barnabas.quantities import agreeing, counted, counted_of
from barnabas.records.record import Headers

_PROGRESS_INTERVAL_S = 0.5
_CLEAR_LINE = "\r\x1b[K"


def at_once(producer: RecordProducer) -> Send:
    """Send to the topic itself."""

    async def send(
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Sent:
        return await producer.send(
            topic,
            value,
            key=key,
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
        )

    return send


def later(cluster: ClusterClient, producer: RecordProducer, delay_s: float) -> Send:
    """Send so that the records are in the topic after a delay, with their timestamps of then."""
    delayed = DelayedSends(cluster, at_once(producer))

    async def send(
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers,
        _partition: int | None,
        _timestamp_ms: int | None,
    ) -> Sent:
        return await delayed.send(topic, value, key, headers, now_ms() + round(delay_s * 1000))

    return send


async def produce_lines(
    producer: RecordProducer,
    topic: str,
    parse: Parse,
    *,
    as_json: bool,
    quiet: bool,
    send: Send | None = None,
) -> None:
    """Send standard input, then report; raises `CommandError` if not everything was delivered."""
    count = producer.count
    partitions: set[int] = set()
    progress = asyncio.create_task(_show_progress(count, quiet=quiet))
    is_complete = False
    try:
        async with producer, producer.transaction() if producer.is_transactional else nullcontext():
            await _send_lines(producer, topic, parse, partitions, send or at_once(producer))
        is_complete = True
    except asyncio.CancelledError:
        if producer.is_transactional:
            say("rolled back the transaction")
        elif not quiet and not as_json:
            say(_summary(count, topic, partitions))
        raise
    finally:
        progress.cancel()
        if producer.is_transactional and not is_complete:  # what arrived will not be seen
            count.failed += count.delivered
            count.delivered = 0
        if as_json:
            print_json(
                {
                    "topic": topic,
                    "delivered": count.delivered,
                    "failed": count.failed,
                    "partitions": sorted(partitions),
                }
            )
    if count.failed:
        failed = counted_of(count.failed, count.failed + count.delivered, "record")
        verb = agreeing(count.failed, "was", "were")
        raise CommandError(f"{failed} {verb} not delivered: {count.first_error}")
    if not quiet and not as_json:
        say(_summary(count, topic, partitions))


async def _send_lines(
    producer: RecordProducer, topic: str, parse: Parse, partitions: set[int], send: Send
) -> None:
    """Send everything; what was read is delivered also when reading is interrupted or fails.

    In a transaction it is rolled back then.
    """
    number = 0
    try:
        async for lines in read_lines():
            for line in lines:
                number += 1
                sent = await send(topic, *parse(line))
                if sent.batch.partition.topic == topic:  # not one that waits elsewhere
                    partitions.add(sent.batch.partition.partition)
    except (LineError, RecordTooLarge) as error:
        fate = "nothing was sent" if producer.is_transactional else "what came before it was sent"
        raise CommandError(f"line {number}: {error}; {fate}") from error
    except asyncio.CancelledError:
        if not producer.is_transactional:
            await producer.flush()
        raise


async def _show_progress(count: DeliveryCount, *, quiet: bool) -> None:
    """Keep a line on the terminal up to date, if there is one and it is not being typed into."""
    if quiet or not sys.stderr.isatty() or sys.stdin.isatty():
        return
    started = monotonic()
    while True:
        await asyncio.sleep(_PROGRESS_INTERVAL_S)
        rate = count.delivered / (monotonic() - started)
        sent = counted(count.delivered, "record")
        sys.stderr.write(f"{_CLEAR_LINE}sent {sent}, {rate:,.0f}/s")
        sys.stderr.flush()


def _summary(count: DeliveryCount, topic: str, partitions: Collection[int]) -> str:
    clear = _CLEAR_LINE if sys.stderr.isatty() else ""
    sent = f"{clear}sent {counted(count.delivered, 'record')} to {topic}"
    if count.failed:
        return f"{sent}; {count.failed:,} not delivered"
    if not partitions:
        return sent
    return f"{sent}, partition{'s' * (len(partitions) > 1)} {_ranges(sorted(partitions))}"


def _ranges(numbers: list[int]) -> str:
    """0-3, 7"""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ", ".join("-".join(map(str, each)) for each in ranges)
