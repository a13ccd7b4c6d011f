"""`barnabas produce`: lines from standard input to a topic."""

import asyncio
import sys
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.base.command import Session, UsageError, cluster_command
from barnabas.cli.base.completion import complete_topic
from barnabas.cli.base.output import say
from barnabas.cli.base.pairs import parse_pairs
from barnabas.cli.base.registry_option import DEFAULT_URL, RegistryUrl
from barnabas.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.client.connect.cluster_client import ClusterClient

EPILOG = """\b
Examples:
  echo hello | barnabas produce greetings --create
  barnabas produce orders --key-separator : --compression zstd < orders.txt
  barnabas produce orders --transactional-id nightly-load < orders.txt
  echo ada | barnabas produce reminders --delay 1h
  echo '{"id": "7", "price": "9.90"}' | barnabas produce orders --format avro
  barnabas consume orders --no-follow --json | barnabas produce copy --json --create
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


class ValueFormat(StrEnum):
    """Formats whose schemas a registry has."""

    AVRO = "avro"
    JSON_SCHEMA = "json-schema"
    PROTOBUF = "protobuf"


@partial(
    cluster_command,
    json_help="Read lines as `consume --json` prints them; print the result as JSON.",
)
async def produce(
    session: Session,
    topic: Annotated[
        str,
        typer.Argument(
            metavar="TOPIC", help="Topic.", show_default=False, autocompletion=complete_topic
        ),
    ],
    key: Annotated[
        str | None, typer.Option("--key", "-k", metavar="TEXT", help="Key of every record.")
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Separator of key and value. Default: a line is a value."
        ),
    ] = None,
    partition: Annotated[
        int | None,
        typer.Option(
            "--partition", "-p", metavar="N", min=0, help="Partition. Default: by key, or balanced."
        ),
    ] = None,
    keep_partitions: Annotated[
        bool,
        typer.Option(
            "--keep-partitions", help="Send to the partition that each line of --json names."
        ),
    ] = False,
    acks: Annotated[
        Acks, typer.Option(help="Replicas that must store a record: none, the leader, all in sync.")
    ] = Acks.ALL,
    compression: Annotated[
        Codec, typer.Option("--compression", "-z", help="Compression of batches.")
    ] = Codec.NONE,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="Header; may be repeated."),
    ] = None,
    null_marker: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Text that stands for a null key or value."),
    ] = None,
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            max=1_000_000_000,
            help="Time after which an undelivered record fails.",
        ),
    ] = 30,
    transactional_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Send all records in one transaction."),
    ] = None,
    value_format: Annotated[
        ValueFormat | None,
        typer.Option(
            "--format",
            "-f",
            help="Read values as JSON, and write them with the latest schema of TOPIC-value in "
            "--registry.",
        ),
    ] = None,
    registry: RegistryUrl = DEFAULT_URL,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Time until consumers of the topic get the records, such as 10m or '1h 30m'.",
        ),
    ] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Create the topic if it does not exist.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing unless something fails.")
    ] = False,
    transaction_timeout_s: Annotated[
        float,
        typer.Option(
            "--transaction-timeout",
            metavar="SECONDS",
            min=0.001,
            max=2_000_000,
            help="Time after which an unfinished transaction is aborted.",
        ),
    ] = 60,
) -> None:
    """Send each line of standard input as a record.

    With --json each line is an object as `barnabas consume --json` prints it, with its key, headers
    and timestamp; bytes that are not text are in base64.

    With --delay the records wait in TOPIC.delayed until workers of the topic move them.
    """
    from barnabas.cli.records.input_format import headers_of, json_parser, text_parser
    from barnabas.cli.records.produce_loop import later, produce_lines
    from barnabas.client.durations import seconds
    from barnabas.client.producer.record_producer import ACKS_ALL, RecordProducer
    from barnabas.records.compression import Compression

    if delay is not None and (partition is not None or keep_partitions):
        raise UsageError("--delay: the partition is chosen when the record is moved to the topic")
    delay_s = None if delay is None else seconds(delay, "--delay")
    write = None if value_format is None else await _writer(value_format, registry, topic)
    headers = headers_of(parse_pairs(header or [], "--header"))
    if session.as_json:
        _check_json_options(key, key_separator, null_marker, partition, keep=keep_partitions)
        parse = json_parser(
            headers, partition=partition, keep_partitions=keep_partitions, write=write
        )
    elif keep_partitions:
        raise UsageError("--keep-partitions needs --json: lines of text have no partitions")
    else:
        _check_text_options(key, key_separator)
        parse = text_parser(key, key_separator, null_marker, headers, partition, write)
    if sys.stdin is None:
        raise UsageError("standard input is closed: there are no records to read")
    async with session.connect() as cluster:
        producer = RecordProducer(
            cluster,
            acks=ACKS_ALL if acks is Acks.ALL else int(acks.value),
            compression=Compression[compression.name],
            delivery_timeout_ms=int(timeout_s * 1000),
            auto_create=False,
            transactional_id=transactional_id,
            transaction_timeout_ms=int(transaction_timeout_s * 1000),
        )
        await _find_topic(cluster, topic, create=create, quiet=quiet)
        await produce_lines(
            producer,
            topic,
            parse,
            as_json=session.as_json,
            quiet=quiet,
            send=None if delay_s is None else later(cluster, producer, delay_s),
        )


async def _writer(value_format: ValueFormat, registry: str, topic: str) -> "Callable[[Any], bytes]":
    from barnabas.cli.records.registered_values import value_writer
    from barnabas.formats.registered.registry import Registry

    return await asyncio.to_thread(value_writer, value_format.value, Registry(registry), topic)


def _check_json_options(
    key: str | None,
    key_separator: str | None,
    null_marker: str | None,
    partition: int | None,
    *,
    keep: bool,
) -> None:
    texts = {"--key": key, "--key-separator": key_separator, "--null-marker": null_marker}
    for option, value in texts.items():
        if value is not None:
            raise UsageError(f"{option} is for lines of text; with --json each line has its key")
    if keep and partition is not None:
        raise UsageError("give either --partition or --keep-partitions")


def _check_text_options(key: str | None, key_separator: str | None) -> None:
    if key is not None and key_separator is not None:
        raise UsageError("give either --key or --key-separator")
    if key_separator == "":
        raise UsageError("--key-separator is empty; give the text between key and value")


async def _find_topic(cluster: "ClusterClient", topic: str, *, create: bool, quiet: bool) -> None:
    """A mistyped name creates no topic, even if the broker would."""
    from barnabas.cli.base.topic_names import no_such_topic, topic_exists
    from barnabas.client.admin.topics import create_topic
    from barnabas.errors import TopicExists

    if await topic_exists(cluster, topic):
        return
    if not create:
        raise await no_such_topic(cluster, topic, "use --create to create it")
    with suppress(TopicExists):  # created concurrently
        await create_topic(cluster, topic)
    found = await cluster.topic(topic, auto_create=True)  # waits until brokers know of it
    if not quiet:
        say(f"created topic {topic}, {counted(len(found.partitions), 'partition')}")
