"""Two independent implementations of the protocol, behind one face.

Both are asked to read bytes of ours, to say what they read field by field, and to write it again.
"""

from datetime import datetime, timedelta
from functools import cache
from io import BytesIO
from typing import Any, Protocol
from uuid import UUID

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer  # noqa: F401  (importing them registers their messages)
from kafka.protocol.api_data import ApiData
from kafka.protocol.api_message import ApiMessage
from kio.index import UnknownEntity, load_entity_schema
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from barnabas.wire.primitives import ZERO_UUID
from tests.support.messages import KnownMessage
from tools.codegen.schema import Field, snake


class ForeignCodec(Protocol):
    """An independent implementation of some messages in some versions."""

    name: str

    def knows(self, known: KnownMessage, version: int) -> bool: ...

    def decode(self, known: KnownMessage, version: int, data: bytes) -> Any: ...

    def encode(self, known: KnownMessage, version: int, message: Any) -> bytes: ...

    def field(self, struct: Any, field: Field) -> Any:
        """What the codec has read for a field, as the value we would have."""
        ...


class KafkaPython:
    """The codecs of kafka-python 3, compiled at run time from Kafka's own message files."""

    name = "kafka-python"

    @cache  # noqa: B019
    def _types(self) -> dict[str, Any]:
        bases = [*ApiMessage.__subclasses__(), *ApiData.__subclasses__()]
        return {found.__name__: found for found in bases}

    def knows(self, known: KnownMessage, version: int) -> bool:
        found = self._types().get(known.block.name)
        return found is not None and found.valid_versions[0] <= version <= found.valid_versions[1]

    def decode(self, known: KnownMessage, version: int, data: bytes) -> Any:
        found = self._types()[known.block.name]
        # Some classes reinterpret what they read; the plain codec is what is compared.
        if issubclass(found, ApiMessage):
            return ApiMessage.decode.__func__(found, data, version=version)
        return found.decode(data, version=version, header=False)

    def encode(self, known: KnownMessage, version: int, message: Any) -> bytes:
        base = ApiMessage if isinstance(message, ApiMessage) else ApiData
        return bytes(base.encode(message, header=False))

    def field(self, struct: Any, field: Field) -> Any:
        if field.name.endswith("AuthorizedOperations") and "authorized_operations" in struct.fields:
            return self._bits(struct.authorized_operations)
        value = getattr(struct, field.attribute)
        return ZERO_UUID if value is None and field.element == "uuid" else _plain(value)

    @staticmethod
    def _bits(positions: set[int] | None) -> int:
        """A signed 32-bit field; None stands for the top bit alone."""
        value = sum(1 << position for position in ({31} if positions is None else positions))
        return value - (1 << 32) if value >> 31 else value


class Kio:
    """kio's codecs: a dataclass per message and version, with dates and durations as such."""

    name = "kio"

    @cache  # noqa: B019
    def _type(self, known: KnownMessage, version: int) -> Any:
        block = known.block
        kinds = {"request": EntityType.request, "response": EntityType.response}
        kind = kinds.get(block.kind, EntityType.data)
        ending = "" if kind is EntityType.data else block.kind.title()
        name = _kio_name(snake(block.name.removesuffix(ending)))
        try:
            return load_entity_schema(name, version, kind)
        except UnknownEntity:
            return None

    def knows(self, known: KnownMessage, version: int) -> bool:
        if known.block.name in _WITH_TIMES:
            return False
        return self._type(known, version) is not None

    def decode(self, known: KnownMessage, version: int, data: bytes) -> Any:
        message, size = entity_reader(self._type(known, version))(data, 0)
        assert size == len(data)
        return message

    def encode(self, known: KnownMessage, version: int, message: Any) -> bytes:
        out = BytesIO()
        entity_writer(self._type(known, version))(out, message)
        return out.getvalue()

    def field(self, struct: Any, field: Field) -> Any:
        name = _kio_name(field.attribute)
        if name.startswith("candidate_") and not hasattr(struct, name):
            name = name.replace("candidate_", "replica_")  # VoteRequest, as Kafka 4 calls them
        if name == "directory_id" and not hasattr(struct, name):
            name = "id_"  # AssignReplicasToDirs, where Kafka has a bare Id
        if name == "type" and not hasattr(struct, name):
            name = "type_"
        value = getattr(struct, name if hasattr(struct, name) else name.removesuffix("_ms"))
        if value is None and field.nullable.low > field.nullable.high:
            return ZERO_UUID if field.element == "uuid" else -1
        if field.is_array and field.element == "uuid" and value is not None:
            value = [ZERO_UUID if each is None else each for each in value]
        return _plain(value)


_WITH_TIMES = {
    f"{verb}DelegationToken{kind}"
    for verb in ("Create", "Renew", "Expire")
    for kind in ("Request", "Response")
}
"""Messages whose times kio makes objects of, which can't be negative or very large."""


def _kio_name(name: str) -> str:
    return name.replace("kraft", "k_raft")


def _plain(value: Any) -> Any:
    """A foreign value as the one we would have; structures stay what they are."""
    match value:
        case UUID():
            return value.bytes
        case timedelta():
            return value // timedelta(milliseconds=1)
        case datetime():
            return round(value.timestamp() * 1000)
        case tuple() | list():
            return [_plain(element) for element in value]
        case memoryview() | bytearray():
            return bytes(value)
        case _:
            return value


CODECS: list[ForeignCodec] = [KafkaPython(), Kio()]
