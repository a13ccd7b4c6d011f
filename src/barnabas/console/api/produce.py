"""One message, sent by form: as text, hex or base64, or as JSON by a schema of the topic."""

import asyncio
from base64 import b64decode
from binascii import Error as Base64Error
from http import HTTPStatus
from typing import Any

from barnabas.console.answers import ApiError
from barnabas.console.api.parameters import PARTITION, TOPIC
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.schemas.encoding import PARTS
from barnabas.console.schemas.registry import RegistryError
from barnabas.errors import InvalidArgument
from barnabas.records.record import Header

_BY_SCHEMA = "schema"
_ENCODINGS = ("text", "hex", "base64", _BY_SCHEMA)


async def show_schemas(call: Call) -> dict[str, Any]:
    """The newest schemas of keys and values, to a user that may see the topic."""
    topic = call.text("topic")
    await call.cluster.client.topics([topic])
    try:
        offers = await asyncio.gather(*(call.view.encoder.offer(topic, part) for part in PARTS))
    except RegistryError as error:
        raise ApiError(
            HTTPStatus.BAD_GATEWAY,
            f"schemas of {topic} can't be shown: {error}",
            "Messages can be sent as text, hex or base64.",
        ) from None
    return {part: offer and offer.shown() for part, offer in zip(PARTS, offers, strict=True)}


async def send_message(call: Call) -> dict[str, Any]:
    headers: list[Header] = []
    for each in call.given("headers") or []:
        if not (isinstance(each, list) and len(each) == 2 and isinstance(each[0], str)):
            raise InvalidArgument("headers: expected [name, value] pairs")
        headers.append((each[0], _bytes(each[1], "text", "headers")))
    if any(call.text(f"{part}_encoding") == _BY_SCHEMA for part in PARTS):
        await call.cluster.client.topics([call.text("topic")])  # errors tell what its schemas have
    key, value = [await _part(call, part) for part in PARTS]
    sent = await call.cluster.producer().send(
        call.text("topic"), value, key, headers=headers, partition=call.given("partition")
    )
    delivery = await sent
    call.cluster.watch.changed()
    return {"partition": delivery.partition, "offset": delivery.offset}


async def _part(call: Call, part: str) -> bytes | None:
    given, encoding = call.given(part), call.text(f"{part}_encoding")
    if given is None or encoding != _BY_SCHEMA:
        return _bytes(given, encoding, part)
    topic, message = call.text("topic"), call.given(f"{part}_message")
    return await call.view.encoder.encode(topic, part, given, message)


def _bytes(value: Any, encoding: str, name: str) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArgument(f"{name}: expected text")
    try:
        if encoding == "base64":
            return b64decode(value, validate=True)
        if encoding == "hex":
            return bytes.fromhex(value)
        return value.encode()
    except (Base64Error, ValueError):
        raise InvalidArgument(f"{name}: it is not {encoding}") from None


_OF_MESSAGE = "Name of the message, of a Protobuf schema. Default: the first."
_HOW = "`schema` takes JSON, encoded by the newest schema of the subject TOPIC-{}."

ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/topics/{topic}/schemas",
        "The newest schemas of keys and values in the registry.",
        show_schemas,
        (TOPIC,),
    ),
    Endpoint(
        "POST",
        "/api/topics/{topic}/messages",
        "Send a record.",
        send_message,
        (TOPIC,),
        (
            PARTITION,
            Parameter("key", "string", "Null if it is left out.", content=True),
            Parameter("value", "string", "Null, a tombstone, if it is left out.", content=True),
            *(
                Parameter(
                    f"{part}_encoding", "string", _HOW.format(part), "text", choices=_ENCODINGS
                )
                for part in PARTS
            ),
            *(Parameter(f"{part}_message", "string", _OF_MESSAGE) for part in PARTS),
            Parameter("headers", "array", "Pairs of name and value.", content=True),
        ),
        changes=True,
    ),
)
