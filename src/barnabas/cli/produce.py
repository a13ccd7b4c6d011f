"""`barnabas produce`: lines from standard input to a topic."""

import asyncio
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.command import CommandError, Session, UsageError, cluster_command
from barnabas.cli.output import print_json, say
from barnabas.cli.settings import parse_pairs

if TYPE_CHECKING:
    from barnabas.client.producer import DeliveryCount, Producer

EPILOG = """\b
Examples:
  echo hello | barnabas produce greetings
  barnabas produce orders --key-separator : --compression zstd < orders.txt
"""
_PROGRESS_INTERVAL_S = 0.5

Parse = Callable[[bytes], tuple[bytes | None, bytes | None]]


class Acks(StrEnum):
    """Whose word is waited for."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


class Codec(StrEnum):
    """Compression of batches."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


@cluster_command
async def produce(
    session: Session,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)],
    key: Annotated[
        str | None, typer.Option("--key", "-k", metavar="TEXT", help="The key of every record.")
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Lines are KEY, this, VALUE. Default: a line is a value."
        ),
    ] = None,
    partition: Annotated[
        int | None,
        typer.Option(
            "--partition", "-p", metavar="N", min=0, help="Default: by the key, else spread evenly."
        ),
    ] = None,
    acks: Annotated[
        Acks, typer.Option(help="Who must have stored a record: nobody, its leader, all replicas.")
    ] = Acks.ALL,
    compression: Annotated[
        Codec, typer.Option("--compression", "-z", help="How batches are compressed.")
    ] = Codec.NONE,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="May be repeated."),
    ] = None,
    null_marker: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="A key or value that is exactly this is sent as null."),
    ] = None,
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            help="Seconds until an undelivered record is given up.",
        ),
    ] = 30,
) -> None:
    """Send each line of standard input as a record."""
    from barnabas.client.producer import ACKS_ALL, Producer
    from barnabas.records.compression import Compression

    if key is not None and key_separator is not None:
        raise UsageError("--key and --key-separator cannot go together")
    if key_separator == "":
        raise UsageError("--key-separator must not be empty")
    parse = _parser(key, key_separator, null_marker)
    headers = [
        (name, os.fsencode(text)) for name, text in parse_pairs(header or [], "--header").items()
    ]
    async with session.connect() as cluster:
        producer = Producer(
            cluster,
            acks=ACKS_ALL if acks is Acks.ALL else int(acks.value),
            compression=Compression[compression.name],
            delivery_timeout_ms=int(timeout_s * 1000),
        )
        progress = asyncio.create_task(_show_progress(producer.count))
        try:
            await _send_lines(producer, topic, partition, parse, headers)
        finally:
            progress.cancel()
            _report(session, producer.count)
    count = producer.count
    if count.failed:
        raise CommandError(
            f"{count.failed} of {count.failed + count.delivered} records were not delivered: "
            f"{count.first_error}"
        )


async def _send_lines(
    producer: "Producer",
    topic: str,
    partition: int | None,
    parse: Parse,
    headers: list[tuple[str, bytes]],
) -> None:
    """Send everything; what was read is delivered also when reading is interrupted or fails."""
    from barnabas.cli.blocking import read_lines

    number = 0
    async with producer:
        try:
            async for lines in read_lines():
                for line in lines:
                    number += 1
                    key, value = parse(line)
                    await producer.send(topic, value, key=key, headers=headers, partition=partition)
        except _LineError as error:
            raise CommandError(f"line {number}: {error}; what came before it was sent") from error
        except asyncio.CancelledError:
            await producer.flush()
            raise


class _LineError(ValueError):
    """A line that is not what the options say."""


def _parser(key: str | None, key_separator: str | None, null_marker: str | None) -> Parse:
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
            raise _LineError(f"no key separator {key_separator!r} in it")
        return None if before == null else before, None if after == null else after

    return separated


async def _show_progress(count: "DeliveryCount") -> None:
    """Keep a line on the terminal up to date, if there is one and it is not being typed into."""
    if not sys.stderr.isatty() or sys.stdin.isatty():
        return
    started = monotonic()
    while True:
        await asyncio.sleep(_PROGRESS_INTERVAL_S)
        rate = count.delivered / (monotonic() - started)
        sys.stderr.write(f"\r\x1b[K{count.delivered:,} records delivered, {rate:,.0f}/s")
        sys.stderr.flush()


def _report(session: Session, count: "DeliveryCount") -> None:
    if session.as_json:
        print_json({"delivered": count.delivered, "failed": count.failed})
    elif sys.stderr.isatty():
        say(f"\r\x1b[K{count.delivered:,} records delivered")
