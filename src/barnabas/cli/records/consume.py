"""`barnabas consume`: records of topics to standard output."""

import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import Session, UsageError, cluster_command
from barnabas.cli.base.completion import complete_group, complete_topic
from barnabas.cli.base.registry_option import DEFAULT_URL, RegistryUrl
from barnabas.cli.records.deserializers import Deserializer

if TYPE_CHECKING:
    from barnabas.cli.records.record_format import Renderer

EPILOG = """\b
Examples:
  barnabas consume orders --from-beginning --print key,value
  barnabas consume orders --from-time '10m ago' --no-follow --json
  barnabas consume orders --group billing --format '%t/%p@%o: %k -> %v'
  barnabas consume jobs --share workers --from-beginning --timeout 5
  barnabas consume orders --format avro --registry http://localhost:8081
  barnabas consume --pattern 'orders-.*' --print topic,value
"""


class Isolation(StrEnum):
    """What is seen of transactions."""

    UNCOMMITTED = "read_uncommitted"
    COMMITTED = "read_committed"


class GroupProtocol(StrEnum):
    """How a member gets its partitions."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


_OF_REGISTRY = tuple(each.value for each in Deserializer if each.is_registered)
_DESERIALIZERS = (
    "Format of keys: string, long (8 bytes), json, hex, raw; avro, json-schema or protobuf of "
    "--registry."
)


@cluster_command
async def consume(
    session: Session,
    topics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC", help="Topics.", show_default=False, autocompletion=complete_topic
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Read all topics whose whole names match, with --group also those to come.",
        ),
    ] = None,
    from_beginning: Annotated[
        bool,
        typer.Option("--from-beginning", help="Start at the oldest record."),
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="N",
            help="Start at this offset, -N from the end, earliest or latest.",
        ),
    ] = None,
    from_time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Start at a time: ISO 8601, epoch ms, or '10m ago'."),
    ] = None,
    partition: Annotated[
        list[int] | None,
        typer.Option(
            "--partition",
            "-p",
            metavar="N",
            min=0,
            help="Partition; may be repeated. Default: all.",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            metavar="GROUP",
            autocompletion=complete_group,
            help="Join this consumer group, and commit offsets.",
        ),
    ] = None,
    group_protocol: Annotated[
        GroupProtocol,
        typer.Option(help="Protocol of --group: members assign partitions, or the coordinator."),
    ] = GroupProtocol.CLASSIC,
    share: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP",
            autocompletion=complete_group,
            help="Join this share group, and accept each record after it is printed.",
        ),
    ] = None,
    max_messages: Annotated[
        int | None,
        typer.Option("--max-messages", "-n", metavar="N", min=1, help="Stop after N records."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Wait for new records, or stop at the end.")
    ] = True,
    timeout_s: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            max=1_000_000_000,
            help="Stop after this time without records; exit code 1 if --max-messages is not "
            "reached.",
        ),
    ] = None,
    isolation: Annotated[
        Isolation,
        typer.Option(help="Show all records, or only those of committed transactions."),
    ] = Isolation.COMMITTED,
    print_fields: Annotated[
        str,
        typer.Option(
            "--print",
            metavar="FIELD,...",
            help="Fields to print, tabs between them: topic, partition, offset, timestamp, time, "
            "key, value, headers, key_size, value_size.",
        ),
    ] = "value",
    template: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="TEMPLATE",
            help="Template with the fields of --print, such as '{time} {value}', or with kcat's "
            "tokens, such as '%t/%p@%o: %k -> %v'; or avro, json-schema, protobuf: values of "
            "--registry as JSON.",
        ),
    ] = None,
    key_deserializer: Annotated[
        Deserializer, typer.Option(metavar="NAME", help=_DESERIALIZERS)
    ] = Deserializer.STRING,
    value_deserializer: Annotated[
        Deserializer, typer.Option(metavar="NAME", help="Format of values, as for keys.")
    ] = Deserializer.STRING,
    registry: RegistryUrl = DEFAULT_URL,
    skip_undecodable: Annotated[
        bool,
        typer.Option(
            "--skip-undecodable",
            help="Skip records that can't be decoded, and report where they are.",
        ),
    ] = False,
    null_marker: Annotated[
        str, typer.Option(metavar="TEXT", help="Text to print for a null key or value.")
    ] = "null",
) -> int:
    """Print records of topics.

    Without a group, reading starts at the next new record, or at the oldest one with --no-follow.
    With a group, it starts at the committed offsets, and offsets of printed records are committed.
    A share group remembers every record that was accepted; a new one starts at the end, or at the
    oldest record with --from-beginning.
    """
    from barnabas.cli.base.topic_names import matching_topics, no_such_topic, topic_exists
    from barnabas.cli.records import record_format
    from barnabas.cli.records.consume_loop import (
        Limits,
        Membership,
        consume_group,
        consume_partitions,
    )
    from barnabas.cli.records.registered_values import registered_texts
    from barnabas.cli.records.start_offsets import parse_start
    from barnabas.client.offsets.isolation import IsolationLevel

    if template in _OF_REGISTRY:
        value_deserializer, template = Deserializer(template), None
    texts = registered_texts(registry)
    if session.as_json:
        render = record_format.compile_json(key_deserializer, value_deserializer, texts)
    elif template is not None:
        render = record_format.compile_template(
            template, key_deserializer, value_deserializer, os.fsencode(null_marker), texts
        )
    else:
        render = record_format.compile_fields(
            print_fields.split(","),
            key_deserializer,
            value_deserializer,
            os.fsencode(null_marker),
            texts,
        )
    raw = Deserializer.RAW in (key_deserializer, value_deserializer)
    if sys.stdout.isatty() and not raw:
        render = _safe_for_terminals(render)
    start = parse_start(from_beginning, offset, from_time, follow=follow)
    level = IsolationLevel[isolation.value.upper()]
    limits = Limits(max_messages, follow, timeout_s, skip_undecodable)
    names = list(topics or ())
    if not names and pattern is None:
        raise UsageError("give the names of topics, or --pattern REGEX")
    async with session.connect() as cluster:
        for topic in names:
            if not await topic_exists(cluster, topic):
                raise await no_such_topic(cluster, topic, "see `barnabas topics list`")
        if pattern is not None and group is None:
            names = sorted({*names, *await matching_topics(cluster, pattern)})
        if share is not None:
            if group is not None or offset is not None or from_time is not None or partition:
                raise UsageError(
                    "--share cannot be combined with --group, --offset, --from-time or --partition"
                )
            if not follow:
                raise UsageError("--share has no end to stop at; use --timeout or --max-messages")
            from barnabas.cli.records.consume_share import consume_share

            return await consume_share(
                session, share, names, "earliest" if from_beginning else None, render, limits
            )
        if group is None:
            return await consume_partitions(
                session, cluster, names, partition, start, render, limits, level
            )
        if offset is not None or from_time is not None or partition:
            raise UsageError(
                "--group cannot be combined with --offset, --from-time or --partition; change the "
                "offsets of a group with `barnabas groups reset-offsets`"
            )
        members = Membership(group, group_protocol.value, names, pattern)
        return await consume_group(session, cluster, members, start, render, limits, level)


def _safe_for_terminals(render: "Renderer") -> "Renderer":
    from barnabas.cli.records.record_format import escape_controls

    return lambda partition, record: escape_controls(render(partition, record))
