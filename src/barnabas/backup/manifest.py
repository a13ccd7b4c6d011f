"""What a point of a backup says, and its form as JSON.

    {"format": 1, "sha256": DIGEST, "hmac_sha256": SIGNATURE, "point": {...}}

The digest is that of the point's JSON with sorted keys and without spaces. The signature is
optional, and outside of the point because earlier releases accept no other fields there.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from barnabas.errors import BarnabasError

FORMAT = 1
_SIGNATURE = "hmac_sha256"


class BackupDamagedError(BarnabasError):
    """A file of a backup is missing, or is not what was written."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """Batches of a partition, of the offsets from `first` up to but not including `end`."""

    name: str
    first: int
    end: int
    bytes: int
    records: int
    max_timestamp_ms: int
    sha256: str


@dataclass(slots=True)
class PartitionData:
    """A partition up to but not including `end`; records before `start` do not belong to it."""

    start: int = 0
    end: int = 0
    files: list[DataFile] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.files)

    @property
    def records(self) -> int:
        """Of all files; a few of them may be before `start`."""
        return sum(each.records for each in self.files)


@dataclass(slots=True)
class TopicData:
    """A topic; `configs` are those that were set for it."""

    topic_id: str
    replication_factor: int
    configs: dict[str, str]
    partitions: list[PartitionData]


@dataclass(slots=True)
class GroupData:
    """A group: offset and text by partition by topic; start offsets, if it is a share group."""

    type: str
    offsets: dict[str, dict[int, tuple[int, str]]] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Point:
    """All of a cluster, as it was at a time."""

    run: str
    created_at_ms: int
    """When the ends of the logs were read: nothing of it was written later."""
    cluster_id: str = ""
    topics: dict[str, TopicData] = field(default_factory=dict)
    groups: dict[str, GroupData] = field(default_factory=dict)
    broker_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    """By node id; those of the empty name are for all brokers."""
    hidden_configs: list[str] = field(default_factory=list)
    """Settings whose values brokers do not show."""
    users: dict[str, dict[str, int]] = field(default_factory=dict)
    """Iterations by mechanism; brokers do not show what passwords are checked with."""
    acls: list[list[Any]] = field(default_factory=list)
    quotas: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    copied_bytes: int = 0
    """What this run has copied; the rest was there."""
    signature: str | None = None
    """See `signature`; it is not part of what it signs."""

    @property
    def bytes(self) -> int:
        return sum(each.bytes for topic in self.topics.values() for each in topic.partitions)

    @property
    def records(self) -> int:
        return sum(each.records for topic in self.topics.values() for each in topic.partitions)

    def files(self) -> list[tuple[str, int, DataFile]]:
        """All data files, each with its topic and partition."""
        return [
            (name, index, each)
            for name, topic in sorted(self.topics.items())
            for index, partition in enumerate(topic.partitions)
            for each in partition.files
        ]


def encode_point(point: Point) -> bytes:
    """The point as it is stored."""
    stored = {"format": FORMAT, "sha256": _digest(point)}
    if point.signature is not None:
        stored[_SIGNATURE] = point.signature
    return json.dumps({**stored, "point": _body(point)}).encode()


def decode_point(content: bytes, name: str) -> Point:
    """Raises `BackupDamagedError`, also if a later release has written it."""
    try:
        stored = json.loads(content)
        version, body, digest = stored["format"], stored["point"], stored["sha256"]
        signature = stored.get(_SIGNATURE)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupDamagedError(f"{name} is damaged: {error}") from error
    if version != FORMAT:
        raise BackupDamagedError(
            f"{name} has format {version}, this release reads {FORMAT}; use a newer release"
        )
    if hashlib.sha256(_canonical(body)).hexdigest() != digest:
        raise BackupDamagedError(f"{name} is damaged: its checksum is wrong")
    if not isinstance(signature, str | None):
        raise BackupDamagedError(f"{name} is damaged: its signature is not a text")
    return Point(
        **{
            **body,
            "topics": {key: _topic(each) for key, each in body["topics"].items()},
            "groups": {key: _group(each) for key, each in body["groups"].items()},
            "signature": signature,
        }
    )


def _topic(body: dict[str, Any]) -> TopicData:
    partitions = [
        PartitionData(each["start"], each["end"], [DataFile(**file) for file in each["files"]])
        for each in body["partitions"]
    ]
    return TopicData(**{**body, "partitions": partitions})


def _group(body: dict[str, Any]) -> GroupData:
    offsets = {
        topic: {int(index): (offset, text) for index, (offset, text) in each.items()}
        for topic, each in body["offsets"].items()
    }
    return GroupData(**{**body, "offsets": offsets})


def canonical_json(point: Point) -> bytes:
    """All of a point but its signature, in the one form that is hashed and signed."""
    # By way of JSON, in which the keys of a dictionary are texts and a tuple is a list.
    return _canonical(json.loads(json.dumps(_body(point))))


def _body(point: Point) -> dict[str, Any]:
    body = asdict(point)
    del body["signature"]
    return body


def _canonical(body: Any) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def _digest(point: Point) -> str:
    return hashlib.sha256(canonical_json(point)).hexdigest()
