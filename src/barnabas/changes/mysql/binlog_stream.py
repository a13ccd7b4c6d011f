"""Events of the binary log from a position on, as the server sends them to replicas.

The server is asked for what is there (`COM_BINLOG_DUMP`, not blocking), and says when that is all.
So a process that is killed leaves nothing behind, and the same position gives the same events.
"""

import secrets
import struct
import zlib
from collections.abc import Iterator
from typing import Final

from barnabas.changes.errors import ChangesError
from barnabas.changes.mysql.binlog_events import FORMAT, HEADER_BYTES, ROTATE, BinlogEvent
from barnabas.changes.mysql.connection import connect, explained, rows
from barnabas.changes.mysql.position import BinlogPosition
from barnabas.changes.mysql.settings import MySqlSettings
from barnabas.changes.mysql.table_map import MalformedEvent

_DUMP: Final = 0x12
_NOT_BLOCKING: Final = 1
_ARTIFICIAL: Final = 0x20
_CHECKSUM_BYTES: Final = 4
_CRC32: Final = 1
_MOST: Final = 0xFFFFFFFF
_HEADER: Final = struct.Struct("<IBIIIH")
_SESSION: Final = (
    "SET @master_binlog_checksum = @@global.binlog_checksum, "
    "@source_binlog_checksum = @@global.binlog_checksum, "
    # What MariaDB may send: all that it has, as GTIDs.
    "@mariadb_slave_capability = 4"
)


def events_from(settings: MySqlSettings, start: BinlogPosition) -> Iterator[BinlogEvent]:
    """Events from a position on, up to where the log ends now."""
    if start.pos > _MOST:
        raise ChangesError(
            f"{start.file} is longer than 4 GB, and the server's protocol has no position "
            f"{start.pos}: FLUSH BINARY LOGS, and start again with a new snapshot"
        )
    connection = connect(settings)
    # Replicas with the same number would disconnect each other.
    number = settings.server_id or 0x80000000 + secrets.randbelow(0x7FFFFFFF)
    try:
        with explained(settings, f"can't read the binary log from {start.file}:{start.pos} on"):
            rows(connection, _SESSION)
            command = struct.pack("<IHI", start.pos, _NOT_BLOCKING, number) + start.file.encode()
            connection._execute_command(_DUMP, command)
            at = _Place(start.file, start.pos)
            while True:
                packet = connection._read_packet()
                if packet.is_eof_packet():
                    return
                yield at.event(packet.get_all_data())
    finally:
        connection._force_close()  # the server may be sending


class _Place:
    """Where in the log the next event is."""

    def __init__(self, file: str, pos: int) -> None:
        self._file = file
        self._pos = pos
        self._has_checksums: bool | None = None
        """None until the event that describes the format has come."""

    def event(self, packet: bytes) -> BinlogEvent:
        """From a packet: a zero byte, and the event."""
        if len(packet) <= HEADER_BYTES:
            raise MalformedEvent(f"a packet of {len(packet)} bytes is no event")
        time_s, kind, server, _, end, flags = _HEADER.unpack_from(packet, 1)
        start = self._pos
        if kind == FORMAT:
            self._has_checksums = packet[-1 - _CHECKSUM_BYTES] == _CRC32
        body = self._body(packet)
        if kind == ROTATE and self._has_checksums is not None:
            self._file = body[8:].decode()
            self._pos = int.from_bytes(body[:8], "little")
            return BinlogEvent(kind, time_s, server, self._file, self._pos, self._pos, body)
        if end and not flags & _ARTIFICIAL and not (kind == FORMAT and end < start):
            # The header has the lowest 32 bits: a file is longer if a transaction is.
            end |= start & ~_MOST
            self._pos = end + _MOST + 1 if end < start else end
        return BinlogEvent(kind, time_s, server, self._file, start, self._pos, body)

    def _body(self, packet: bytes) -> bytes:
        if not self._has_checksums:
            return packet[1 + HEADER_BYTES :]
        found = int.from_bytes(packet[-_CHECKSUM_BYTES:], "little")
        if zlib.crc32(packet[1:-_CHECKSUM_BYTES]) != found:
            raise MalformedEvent(
                f"the event at {self._file}:{self._pos} of the binary log has another checksum: "
                "is the server's disk damaged?"
            )
        return packet[1 + HEADER_BYTES : -_CHECKSUM_BYTES]
