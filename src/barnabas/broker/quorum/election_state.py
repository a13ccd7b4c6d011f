"""The file `quorum-state`, in Kafka's format: the epoch, and this replica's vote in it.

A checksum is added: a flipped bit of the vote would let the replica vote twice. Earlier releases
wrote none, and ignore it.
"""

import json
from typing import Any
from zlib import crc32

from barnabas.log import StorageError
from barnabas.log.directory.data_directory import decode_id, encode_id
from barnabas.raft import ElectionState, ReplicaKey
from barnabas.wire.primitives import ZERO_UUID

ELECTION_FILE = "quorum-state"
_VERSION = 1
_NONE_ID = -1
_NAMES = ("leaderId", "leaderEpoch", "votedId", "votedDirectoryId", "data_version")


class NewerFormat(StorageError):  # noqa: N818 - reads as the fact it states
    """A newer release has written this: nothing is lost or damaged."""


def encode_election(election: ElectionState) -> bytes:
    voted_id, voted_directory_id = election.voted_for or (_NONE_ID, ZERO_UUID)
    content: dict[str, Any] = {
        "leaderId": _NONE_ID,
        "leaderEpoch": election.epoch,
        "votedId": voted_id,
        "votedDirectoryId": encode_id(voted_directory_id),
        "data_version": _VERSION,
    }
    content["crc"] = _checksum(content)
    return json.dumps(content, separators=(",", ":")).encode()


def decode_election(path: str, content: bytes) -> ElectionState:
    """Raises `StorageError`: without its vote, a replica might vote twice. `NewerFormat` if a newer
    release has written it."""
    try:
        fields = json.loads(content)
        version = int(fields["data_version"])
        if version > _VERSION and not _is_ours(fields):
            raise NewerFormat(f"{path} has version {version}: a newer release has written it")
        if version != _VERSION:
            raise ValueError(f"version {version}")
        if not _is_whole(fields):
            raise ValueError("its checksum is wrong")
        voted_id = int(fields["votedId"])
        voted_for = None
        if voted_id != _NONE_ID:
            voted_for = ReplicaKey(voted_id, decode_id(fields["votedDirectoryId"]))
        return ElectionState(int(fields["leaderEpoch"]), voted_for)
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path} can't be read ({error}); restore it from a backup") from error


def _checksum(fields: dict[str, Any]) -> int:
    return crc32(json.dumps([fields[name] for name in _NAMES]).encode())


def _is_ours(fields: dict[str, Any]) -> bool:
    """Whether this release wrote the file, and a flipped bit makes it one of a newer release."""
    return {"crc", *_NAMES} <= fields.keys() and bool(
        fields["crc"] == _checksum(fields | {"data_version": _VERSION})
    )


def _is_whole(fields: dict[str, Any]) -> bool:
    """A file without a checksum is one of an earlier release, unless a name in it is damaged."""
    if "crc" not in fields:
        return fields.keys() == set(_NAMES)
    return bool(fields["crc"] == _checksum(fields))
