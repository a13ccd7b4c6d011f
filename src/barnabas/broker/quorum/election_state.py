"""The file `quorum-state`, in Kafka's format: the epoch, and this replica's vote in it."""

import json

from barnabas.log import StorageError
from barnabas.log.directory.data_directory import decode_id, encode_id
from barnabas.raft import ElectionState, ReplicaKey
from barnabas.wire.primitives import ZERO_UUID

ELECTION_FILE = "quorum-state"
_VERSION = 1
_NONE_ID = -1


class NewerFormat(StorageError):  # noqa: N818 - reads as the fact it states
    """A newer release has written this: nothing is lost or damaged."""


def encode_election(election: ElectionState) -> bytes:
    voted_id, voted_directory_id = election.voted_for or (_NONE_ID, ZERO_UUID)
    content = {
        "leaderId": _NONE_ID,
        "leaderEpoch": election.epoch,
        "votedId": voted_id,
        "votedDirectoryId": encode_id(voted_directory_id),
        "data_version": _VERSION,
    }
    return json.dumps(content, separators=(",", ":")).encode()


def decode_election(path: str, content: bytes) -> ElectionState:
    """Raises `StorageError`: without its vote, a replica might vote twice. `NewerFormat` if a newer
    release has written it."""
    try:
        fields = json.loads(content)
        version = int(fields["data_version"])
        if version > _VERSION:
            raise NewerFormat(f"{path} has version {version}: a newer release has written it")
        if version != _VERSION:
            raise ValueError(f"version {version}")
        voted_id = int(fields["votedId"])
        voted_for = None
        if voted_id != _NONE_ID:
            voted_for = ReplicaKey(voted_id, decode_id(fields["votedDirectoryId"]))
        return ElectionState(int(fields["leaderEpoch"]), voted_for)
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path} can't be read ({error}); restore it from a backup") from error
