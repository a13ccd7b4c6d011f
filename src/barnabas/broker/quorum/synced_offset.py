"""The file `synced-offset`: how far the log is known to be on the disk.

    offset   int64
    crc      uint32, CRC-32C of the offset

It is written after each sync, and not synced itself: if it is old, or torn and so 0, less of the
log is known to be synced, and more may be taken for a torn end. But it must never be too large: it
is reset, and that is synced, before the log is truncated. A log without the file is from a version
that synced each batch separately.
"""

import struct

from crc32c import crc32c

from barnabas.log import Disk

SYNCED_FILE = "synced-offset"

_OFFSET = struct.Struct(">q")
_CRC = struct.Struct(">I")


class SyncedOffset:
    def __init__(self, disk: Disk, directory: str) -> None:
        """Read the file, or create it. Raises OSError if the disk fails."""
        path = f"{directory}/{SYNCED_FILE}"
        self.is_new = not disk.exists(path)
        self._file = disk.open(path, create=True)
        self.value = _decode(self._file.read(_OFFSET.size + _CRC.size, 0))

    def forget(self) -> None:
        """Reset the offset durably: the log is about to be truncated."""
        self.set(0)
        self._file.sync()

    def set(self, offset: int) -> None:
        encoded = _OFFSET.pack(offset)
        self._file.write(encoded + _CRC.pack(crc32c(encoded)), 0)
        self.value = offset

    def close(self) -> None:
        self._file.close()


def _decode(content: bytes) -> int:
    encoded = content[: _OFFSET.size]
    if content != encoded + _CRC.pack(crc32c(encoded)) or len(encoded) != _OFFSET.size:
        return 0
    return int(_OFFSET.unpack(encoded)[0])
