"""Entries as Kafka writes them: each is one record batch, with the entry's offset and epoch.

What Raft itself has to remember stands in control batches of one record. Its key is a version (0)
and a type, both int16; its value is the message of that type:

    2  LeaderChangeMessage    the first entry of an epoch
    6  VotersRecord           who votes from here on

Their timestamp is -1: it is never used.
"""

import struct
from collections.abc import Iterable, Iterator

from barnabas.raft import Batch, Entry, LeaderChange, ReplicaKey, Voter, VoterSet
from barnabas.raft.entry import Body
from barnabas.records.batch import BatchHeader, compute_crc, parse_header, patch_assigned
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.encode import encode_batch
from barnabas.records.errors import CorruptBatch
from barnabas.records.record import NO_TIMESTAMP, Record, Row
from barnabas.wire.endpoint import Endpoint
from barnabas.wire.message import Message
from barnabas.wire.messages import raft_records as wire
from barnabas.wire.primitives import Buffer, Reader, WireError, Writer

LEADER_CHANGE = 2
SNAPSHOT_HEADER = 3
SNAPSHOT_FOOTER = 4
KRAFT_VERSION = 5
VOTERS = 6

_CONTROL_KEY = struct.Struct(">hh")


def encode_entry(entry: Entry) -> bytearray:
    """The batch that is the entry, on disk and on the wire."""
    match entry.body:
        case Batch(payload):
            batch = bytearray(payload)
            patch_assigned(batch, 0, parse_header(batch), entry.base_offset, entry.epoch)
            return batch
        case LeaderChange(leader_id):
            row = control_row(LEADER_CHANGE, wire.LeaderChangeMessage(leader_id=leader_id))
        case VoterSet() as voters:
            row = control_row(VOTERS, voters_record(voters))
    return encode_batch(
        [row], base_offset=entry.base_offset, leader_epoch=entry.epoch, control=True
    )


def encode_entries(entries: Iterable[Entry]) -> bytes:
    return b"".join(map(encode_entry, entries))


def decode_entries(batches: Buffer) -> Iterator[Entry]:
    """Read what `encode_entries` wrote. Raises `CorruptBatch`."""
    end = 0
    for header, batch in iter_batches(batches):
        end += len(batch)
        yield decode_entry(header, batch)
    if end != len(batches):
        raise CorruptBatch(f"{len(batches) - end} bytes are not a whole batch")


def decode_entry(header: BatchHeader, batch: memoryview) -> Entry:
    body: Body
    if header.is_control:
        body = _decode_control(decode_batch(batch))
    elif compute_crc(batch) != header.crc:
        raise CorruptBatch("the CRC does not match")
    else:
        body = Batch(bytes(batch), header.last_offset_delta + 1)
    return Entry(header.base_offset, header.partition_leader_epoch, body)


class UnknownControlRecord(CorruptBatch):
    """A newer release may have written it."""


def _decode_control(records: list[Record]) -> LeaderChange | VoterSet:
    if len(records) != 1:
        raise CorruptBatch(f"a control batch of {len(records)} records")
    kind, reader = control_of(records[0])
    try:
        if kind == LEADER_CHANGE:
            return LeaderChange(wire.LeaderChangeMessage.decode(reader, 0).leader_id)
        if kind == VOTERS:
            return voter_set(wire.VotersRecord.decode(reader, 0))
    except (WireError, struct.error, ValueError) as error:
        raise CorruptBatch(f"a control record of type {kind}: {error}") from error
    raise UnknownControlRecord(f"a control record of type {kind} in the log")


# -- control records -------------------------------------------------------------------------------


def control_row(kind: int, message: Message) -> Row:
    w = Writer()
    message.encode(w, 0)
    return NO_TIMESTAMP, _CONTROL_KEY.pack(0, kind), w.getvalue(), ()


def control_of(record: Record) -> tuple[int, Reader]:
    """The type of a control record, and its message to be read."""
    if record.key is None or record.value is None or len(record.key) != _CONTROL_KEY.size:
        raise CorruptBatch("a control record without a type")
    return _CONTROL_KEY.unpack(record.key)[1], Reader(record.value)


def voters_record(voters: VoterSet) -> wire.VotersRecord:
    return wire.VotersRecord(
        voters=[
            wire.Voter(
                voter.key.node_id,
                voter.key.directory_id,
                [wire.Endpoint(at.name, at.host, at.port) for at in voter.endpoints],
                wire.KRaftVersionFeature(0, 1),
            )
            for voter in voters.voters
        ]
    )


def voter_set(record: wire.VotersRecord) -> VoterSet:
    return VoterSet(
        tuple(
            Voter(
                ReplicaKey(voter.voter_id, bytes(voter.voter_directory_id)),
                tuple(Endpoint(e.name, e.host, e.port) for e in voter.endpoints),
            )
            for voter in record.voters
        )
    )
