"""Reading and writing messages in records that are stored.

Requests carry no string of more than 32,767 bytes, so no record gets a longer one. Earlier releases
took longer ones. What they have stored is read, and written to snapshots, as it is: a node that
refused it could not start.
"""

from barnabas.wire.primitives import Reader, WireError, Writer


class StoredReader(Reader):
    __slots__ = ()

    def compact_string(self) -> str:
        text = self.compact_nullable_string()
        if text is None:
            raise WireError("a string that must not be null is null")
        return text

    def compact_nullable_string(self) -> str | None:
        length = self.uvarint()
        return None if length == 0 else self._text(length - 1)


class StoredWriter(Writer):
    __slots__ = ()

    def compact_string(self, value: str | None) -> None:
        if value is None:
            raise WireError("a string that must not be null is null")
        data = value.encode()
        self.uvarint(len(data) + 1)
        self.buffer += data
