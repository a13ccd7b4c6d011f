"""Whether everything that this node had acknowledged before it stopped is certainly on its disk.

A process that is killed loses nothing: what it wrote is in the page cache. A machine that loses
power loses what was not synced. So the file `broker.state` holds the machine's boot id and the
epoch of the node's registration, and says whether the node was shut down cleanly.

Its last line is a checksum of the epoch and of how the node stopped. The boot id needs none: any
other than the machine's own means that the disk is not trusted. Earlier releases wrote no checksum.
"""

from dataclasses import dataclass
from zlib import crc32

from barnabas.log import Disk
from barnabas.log.errors import storage_errors

_FILE = "broker.state"
_NAMES = {"broker.epoch", "boot.id", "clean"}
UNKNOWN_EPOCH = -1


@dataclass(frozen=True, slots=True)
class DiskTrust:
    """Reads and writes `broker.state`."""

    disk: Disk
    directory: str
    boot_id: str

    @property
    def _path(self) -> str:
        return f"{self.directory}/{_FILE}"

    @property
    def is_directory_new(self) -> bool:
        """Whether no node has registered with this data directory. Raises `StorageError`."""
        with storage_errors(f"can not read {self._path}"):
            return not self.disk.exists(self._path)

    def read(self) -> tuple[int, bool]:
        """The epoch of the last registration, and whether nothing written since can be lost.

        The epoch is -1 if there is none. Raises `StorageError`.
        """
        with storage_errors(f"can not read {self._path}"):
            if not self.disk.exists(self._path):
                return UNKNOWN_EPOCH, False
            text = self.disk.read_file(self._path).decode("ascii", "replace")
        entries = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        epoch = entries.get("broker.epoch", "")
        clean = entries.get("clean") == "true"
        same_boot = bool(self.boot_id) and entries.get("boot.id") == self.boot_id
        if not epoch.isdecimal() or not _is_whole(entries):
            return UNKNOWN_EPOCH, False
        return int(epoch), clean or same_boot

    def registered(self, epoch: int, *, is_sure: bool = True) -> None:
        """The node is about to write under this epoch. Raises `StorageError`.

        It does not trust its disk before it has dealt with what a power loss may have changed.
        """
        self._write(epoch, self.boot_id if is_sure else "", clean=False)

    def stopped(self, epoch: int) -> None:
        """All logs are synced and closed. Raises `StorageError`."""
        self._write(epoch, self.boot_id, clean=True)

    def _write(self, epoch: int, boot_id: str, *, clean: bool) -> None:
        entries = {
            "broker.epoch": str(epoch),
            "boot.id": boot_id,
            "clean": str(clean).lower(),
        }
        entries["crc"] = _checksum(entries)
        lines = [f"{name}={value}" for name, value in entries.items()]
        with storage_errors(f"can not write {self._path}"):
            self.disk.replace_file(self._path, ("\n".join(lines) + "\n").encode(), sync=True)


def _checksum(entries: dict[str, str]) -> str:
    checked = f"{entries['broker.epoch']} {entries.get('clean')}"
    return f"{crc32(checked.encode()):08x}"


def _is_whole(entries: dict[str, str]) -> bool:
    """A file without a checksum is one of an earlier release, unless a name in it is damaged."""
    if "crc" not in entries:
        return entries.keys() == _NAMES
    return entries["crc"] == _checksum(entries)
