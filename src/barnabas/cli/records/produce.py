"""`barnabas produce`: lines from standard input to a topic."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from barnabas.cli.base.command import Session, UsageError, cluster_command
from barnabas.cli.base.pairs import parse_pairs

EPILOG = """\b
Examples:
  echo hello | barnabas produce greetings
  barnabas produce orders --key-separator : --compression zstd < orders.txt
  barnabas produce orders --transactional-id nightly-load < orders.txt
"""


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
            max=1_000_000_000,
            help="Seconds until an undelivered record is given up.",
        ),
    ] = 30,
    transactional_id: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Send everything in one transaction: all of it is seen, or nothing."
        ),
    ] = None,
    transaction_timeout_s: Annotated[
        float,
        typer.Option(
            "--transaction-timeout",
            metavar="SECONDS",
            min=0.001,
            max=2_000_000,
            help="Seconds until the transaction is rolled back if it has not ended.",
        ),
    ] = 60,
) -> None:
    """Send each line of standard input as a record."""
    from barnabas.cli.records.produce_loop import headers_of, parser, produce_lines
    from barnabas.client.producer.record_producer import ACKS_ALL, RecordProducer
    from barnabas.records.compression import Compression

    if key is not None and key_separator is not None:
        raise UsageError("--key and --key-separator cannot go together")
    if key_separator == "":
        raise UsageError("--key-separator must not be empty")
    if sys.stdin is None:
        raise UsageError("standard input is closed, there is nothing to read records from")
    parse = parser(key, key_separator, null_marker)
    headers = headers_of(parse_pairs(header or [], "--header"))
    async with session.connect() as cluster:
        producer = RecordProducer(
            cluster,
            acks=ACKS_ALL if acks is Acks.ALL else int(acks.value),
            compression=Compression[compression.name],
            delivery_timeout_ms=int(timeout_s * 1000),
            transactional_id=transactional_id,
            transaction_timeout_ms=int(transaction_timeout_s * 1000),
        )
        await produce_lines(
            producer,
            topic,
            partition,
            parse,
            headers,
            in_transaction=transactional_id is not None,
            as_json=session.as_json,
        )
