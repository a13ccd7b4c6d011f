"""The format of coordinators' records: an int16 version, then a message in that version."""

from barnabas.wire.message import Message
from barnabas.wire.primitives import INT16
from barnabas.wire.stored import StoredWriter


class CorruptRecord(Exception):  # noqa: N818 - says what the bytes are
    """The bytes are not a record of this topic, or one of a version that is not supported."""


def encode(message: Message, version: int) -> bytes:
    writer = StoredWriter()
    writer.buffer += INT16.pack(version)
    message.encode(writer, version)
    return writer.getvalue()
