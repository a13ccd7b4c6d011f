"""Snapshots as Kafka keeps them: `<end offset>-<epoch>.checkpoint`, a file of record batches.

    control batch    SnapshotHeaderRecord, KRaftVersionRecord (1), VotersRecord
    batches          the state, as metadata records
    control batch    SnapshotFooterRecord

Offsets count from 0 and mean nothing. One that ends at offset 0 has no state: it says who votes
in a cluster that has just begun. A file without its footer is none.
"""

import re
import struct
from collections.abc import Sequence
from itertools import islice

from barnabas.broker.quorum.batches import (
    KRAFT_VERSION,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    VOTERS,
    control_of,
    control_row,
    voter_set,
    voters_record,
)
from barnabas.metadata.records import (
    MetadataRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.raft import OffsetAndEpoch, VoterSet
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.encode import encode_batch
from barnabas.records.errors import CorruptBatch
from barnabas.wire.messages import raft_records as wire
from barnabas.wire.primitives import WireError

BOOTSTRAP = OffsetAndEpoch(0, 0)

_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
_BATCH_RECORDS = 1_000


def checkpoint_name(snapshot_id: OffsetAndEpoch) -> str:
    return f"{snapshot_id.end_offset:020d}-{snapshot_id.epoch:010d}.checkpoint"


def snapshot_id_in(name: str) -> OffsetAndEpoch | None:
    """The snapshot id in a file name; None if it is not a snapshot."""
    match = _NAME.fullmatch(name)
    return OffsetAndEpoch(int(match[1]), int(match[2])) if match else None


def encode_checkpoint(
    records: Sequence[MetadataRecord], voters: VoterSet, timestamp_ms: int
) -> bytes:
    """`timestamp_ms` is the time of the last change in it."""
    head = [
        control_row(
            SNAPSHOT_HEADER,
            wire.SnapshotHeaderRecord(last_contained_log_timestamp=timestamp_ms),
        ),
        control_row(KRAFT_VERSION, wire.KRaftVersionRecord(kraft_version=1)),
        control_row(VOTERS, voters_record(voters)),
    ]
    batches = [encode_batch(head, control=True, leader_epoch=0)]
    offset = len(head)
    values = iter(records)
    while chunk := list(islice(values, _BATCH_RECORDS)):
        rows = [(timestamp_ms, None, encode_metadata_record(record), ()) for record in chunk]
        batches.append(encode_batch(rows, base_offset=offset, leader_epoch=0))
        offset += len(chunk)
    foot = [control_row(SNAPSHOT_FOOTER, wire.SnapshotFooterRecord())]
    batches.append(encode_batch(foot, base_offset=offset, control=True, leader_epoch=0))
    return b"".join(batches)


def check_checkpoint(content: bytes) -> VoterSet:
    """Read a whole snapshot, and return its voters. Raises `CorruptBatch`."""
    records_in_checkpoint(content)
    return voters_in_checkpoint(content)


def voters_in_checkpoint(content: bytes) -> VoterSet:
    """The voters in a snapshot. Raises `CorruptBatch`."""
    for header, batch in iter_batches(content):
        if not header.is_control:
            break
        for record in decode_batch(batch):
            kind, reader = control_of(record)
            if kind == VOTERS:
                return voter_set(wire.VotersRecord.decode(reader, 0))
    raise CorruptBatch("a snapshot does not say who votes")


def records_in_checkpoint(content: bytes) -> list[MetadataRecord]:
    """The state in a snapshot. Raises `CorruptBatch`."""
    records: list[MetadataRecord] = []
    kind = -1
    try:
        for header, batch in iter_batches(content):
            decoded = decode_batch(batch)
            if header.is_control:
                kind = control_of(decoded[-1])[0]
            else:
                records += (decode_metadata_record(record.value or b"") for record in decoded)
    except (WireError, struct.error) as error:
        raise CorruptBatch(f"a snapshot can't be read: {error}") from error
    if kind != SNAPSHOT_FOOTER:
        raise CorruptBatch("the end of a snapshot is missing")
    return records
