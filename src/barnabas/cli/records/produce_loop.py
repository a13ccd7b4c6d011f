"""The loop of `barnabas produce`: read lines, send records, and say how it went."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from time import monotonic

from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import print_json, say
from barnabas.cli.records.standard_streams import read_lines
from barnabas.client.producer.batch_completion import DeliveryCount
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import RecordTooLarge
from barnabas.records.record import Headers

_PROGRESS_INTERVAL_S = 0.5

Parse = Callable[[bytes], tuple[bytes | None, bytes | None]]


class LineError(ValueError):
    """A line that is not what the options say."""


def headers_of(pairs: Mapping[str, str]) -> Headers:
    """Headers from the command line, whose bytes are kept as they were given."""
    return [(name, os.fsencode(text)) for name, text in pairs.items()]


def parser(key: str | None, key_separator: str | None, null_marker: str | None) -> Parse:
    """The function that makes key and value of a line."""
    null = None if null_marker is None else os.fsencode(null_marker)
    fixed = None if key is None else os.fsencode(key)

    def plain(line: bytes) -> tuple[bytes | None, bytes | None]:
        return fixed, None if line == null else line

    if key_separator is None:
        return plain
    separator = os.fsencode(key_separator)

    def separated(line: bytes) -> tuple[bytes | None, bytes | None]:
        before, found, after = line.partition(separator)
        if not found:
            raise LineError(f"no key separator {key_separator!r} in it")
        return None if before == null else before, None if after == null else after

    return separated


async def produce_lines(
    producer: RecordProducer,
    topic: str,
    partition: int | None,
    parse: Parse,
    headers: Headers,
    *,
    in_transaction: bool,
    as_json: bool,
) -> None:
    """Send standard input, then report; raises `CommandError` if not everything was delivered."""
    count = producer.count
    progress = asyncio.create_task(_show_progress(count))
    try:
        async with producer, producer.transaction() if in_transaction else nullcontext():
            await _send_lines(producer, topic, partition, parse, headers, in_transaction)
    except BaseException:
        if in_transaction:  # what arrived will not be seen
            count.failed += count.delivered
            count.delivered = 0
        raise
    finally:
        progress.cancel()
        _report(count, as_json=as_json)
    if count.failed:
        raise CommandError(
            f"{count.failed} of {count.failed + count.delivered} records were not delivered: "
            f"{count.first_error}"
        )


async def _send_lines(
    producer: RecordProducer,
    topic: str,
    partition: int | None,
    parse: Parse,
    headers: Headers,
    in_transaction: bool,
) -> None:
    """Send everything; what was read is delivered also when reading is interrupted or fails.

    In a transaction it is rolled back then.
    """
    number = 0
    try:
        async for lines in read_lines():
            for line in lines:
                number += 1
                key, value = parse(line)
                await producer.send(topic, value, key=key, headers=headers, partition=partition)
    except (LineError, RecordTooLarge) as error:
        fate = "nothing was sent" if in_transaction else "what came before it was sent"
        raise CommandError(f"line {number}: {error}; {fate}") from error
    except asyncio.CancelledError:
        if not in_transaction:
            await producer.flush()
        raise


async def _show_progress(count: DeliveryCount) -> None:
    """Keep a line on the terminal up to date, if there is one and it is not being typed into."""
    if not sys.stderr.isatty() or sys.stdin.isatty():
        return
    started = monotonic()
    while True:
        await asyncio.sleep(_PROGRESS_INTERVAL_S)
        rate = count.delivered / (monotonic() - started)
        sys.stderr.write(f"\r\x1b[K{count.delivered:,} records delivered, {rate:,.0f}/s")
        sys.stderr.flush()


def _report(count: DeliveryCount, *, as_json: bool) -> None:
    if as_json:
        print_json({"delivered": count.delivered, "failed": count.failed})
    elif sys.stderr.isatty():
        say(f"\r\x1b[K{count.delivered:,} records delivered")
