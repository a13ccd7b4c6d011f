"""`barnabas get`: the current value of a key."""

import asyncio
import struct
import sys
from functools import partial
from typing import Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CLIENT_ID, Session, UsageError, cluster_command
from barnabas.cli.base.registry_option import DEFAULT_URL, RegistryUrl
from barnabas.cli.records.deserializers import Deserializer

EPILOG = """\b
Examples:
  barnabas get prices apple
  barnabas get prices apple --json
  barnabas get accounts 17 --key-deserializer long
"""


@cluster_command
async def get(
    session: Session,
    topic: Annotated[str, typer.Argument(help="Topic, usually a compacted one.")],
    key: Annotated[str, typer.Argument(help="Key.")],
    partition: Annotated[
        list[int] | None,
        typer.Option(
            "--partition", "-p", metavar="N", min=0, help="Read only this partition; repeatable."
        ),
    ] = None,
    key_deserializer: Annotated[
        Deserializer,
        typer.Option(metavar="NAME", help="Format of the key: string, long, json or hex."),
    ] = Deserializer.STRING,
    value_deserializer: Annotated[
        Deserializer,
        typer.Option(
            metavar="NAME",
            help="Format of the value, or raw; avro, json-schema or protobuf of --registry.",
        ),
    ] = Deserializer.STRING,
    registry: RegistryUrl = DEFAULT_URL,
) -> int:
    """Print the last value of a key in a topic.

    Reads the topic once, to its end. If the key has no value, or was deleted, nothing is printed
    and the exit code is 1. For many keys use Table in Python.
    """
    from barnabas.cli.base.output import say
    from barnabas.cli.base.topic_names import no_such_topic, topic_exists
    from barnabas.cli.records import record_format
    from barnabas.cli.records.last_record import last_record
    from barnabas.cli.records.registered_values import registered_texts
    from barnabas.cli.records.standard_streams import StdoutWriter
    from barnabas.formats.registered.not_loaded import loading

    wanted = _bytes_of(key, key_deserializer)
    texts = registered_texts(registry)
    render = (
        record_format.compile_json(key_deserializer, value_deserializer, texts)
        if session.as_json
        else record_format.compile_fields(
            ["value"], key_deserializer, value_deserializer, b"", texts
        )
    )
    async with session.connect() as cluster:
        if not await topic_exists(cluster, topic):
            raise await no_such_topic(cluster, topic, "see `barnabas topics list`")
        found = await last_record(
            session.bootstrap,
            cluster,
            topic,
            wanted,
            partition,
            CLIENT_ID,
            session.config.security_settings,
        )
    if found is None or found[1].value is None:
        say(f"topic {topic} has no value for key {key}")
        return exit_codes.FAILURE
    line = await asyncio.to_thread(loading, partial(render, *found))
    if sys.stdout.isatty() and value_deserializer is not Deserializer.RAW:
        line = record_format.escape_controls(line)
    await StdoutWriter().write(line)
    return exit_codes.OK


def _bytes_of(key: str, deserializer: Deserializer) -> bytes:
    """The key as producers write it."""
    from barnabas.formats import JSON

    try:
        match deserializer:
            case Deserializer.LONG:
                return struct.pack(">q", int(key))
            case Deserializer.HEX:
                return bytes.fromhex(key)
            case Deserializer.JSON:
                import json

                return JSON.encode(json.loads(key))
            case Deserializer.STRING | Deserializer.RAW:
                return key.encode("utf-8", "surrogateescape")
            case _:
                raise UsageError(
                    f"--key-deserializer {deserializer.value}: a key is looked up by its bytes; "
                    "give them with --key-deserializer hex"
                )
    except (ValueError, struct.error) as error:
        raise UsageError(f"key {key!r} is not {deserializer.value}: {error}") from error
