"""Raft's messages and entries survive the way through Kafka's."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.quorum import METADATA_TOPIC_ID, is_metadata_fetch
from barnabas.broker.quorum.batches import decode_entries, encode_entries
from barnabas.broker.quorum.checkpoint import (
    checkpoint_name,
    encode_checkpoint,
    records_in_checkpoint,
    snapshot_id_in,
    voters_in_checkpoint,
)
from barnabas.broker.quorum.election_state import NewerFormat, decode_election, encode_election
from barnabas.broker.quorum.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    refuse,
)
from barnabas.log import StorageError
from barnabas.metadata.records import encode_metadata_record
from barnabas.raft import (
    Batch,
    ElectionState,
    Entry,
    LeaderChange,
    OffsetAndEpoch,
    ReplicaKey,
    Voter,
    VoterSet,
)
from barnabas.raft import messages as raft
from barnabas.records.encode import encode_batch
from barnabas.records.errors import RecordsError
from barnabas.wire.endpoint import Endpoint, SecurityProtocol
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Message
from barnabas.wire.messages.fetch import FetchRequest, FetchTopic
from barnabas.wire.primitives import Reader, Writer
from tests.broker.quorum.member import change

epochs = st.integers(0, 2**31 - 1)
node_ids = st.integers(0, 2**31 - 1)
offsets = st.integers(0, 2**62)
counts = st.integers(0, 2**31 - 1)
errors = st.sampled_from(ErrorCode)
leaders = st.none() | node_ids
keys = st.builds(ReplicaKey, node_ids, st.binary(min_size=16, max_size=16))
points = st.builds(OffsetAndEpoch, offsets, epochs)
endpoints = st.builds(
    Endpoint,
    st.text(max_size=5),
    st.text(max_size=5),
    st.integers(0, 65535),
    st.just(SecurityProtocol.PLAINTEXT),
)
voters = st.builds(Voter, keys, st.lists(endpoints, max_size=2).map(tuple))
voter_sets = st.lists(voters, max_size=4, unique_by=lambda voter: voter.key.node_id).map(
    lambda found: VoterSet(tuple(sorted(found)))
)


def batch(names: list[str]) -> Batch:
    rows = [(1, None, encode_metadata_record(change(name)), ()) for name in names]
    return Batch(bytes(encode_batch(rows)), len(names))


bodies = (
    st.builds(LeaderChange, node_ids)
    | voter_sets
    | st.lists(st.text(max_size=9), min_size=1, max_size=3).map(batch)
)


@st.composite
def logs(draw: st.DrawFn) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    offset, epoch = draw(st.integers(0, 2**40)), draw(st.integers(0, 1000))
    for body in draw(st.lists(bodies, max_size=4)):
        epoch += draw(st.integers(0, 3))
        entries.append(Entry(offset, epoch, body))
        offset = entries[-1].end_offset
    return tuple(entries)


requests = (
    st.builds(raft.VoteRequest, epochs, keys, keys, epochs, offsets, st.booleans())
    | st.builds(raft.BeginQuorumEpochRequest, epochs, node_ids, keys)
    | st.builds(raft.EndQuorumEpochRequest, epochs, node_ids, st.lists(keys).map(tuple))
    | st.builds(raft.FetchRequest, epochs, keys, offsets, epochs, offsets, counts, counts)
    | st.builds(raft.FetchSnapshotRequest, epochs, keys, points, offsets, counts)
)
responses = (
    st.builds(raft.VoteResponse, errors, epochs, leaders, st.booleans())
    | st.builds(raft.BeginQuorumEpochResponse, errors, epochs, leaders)
    | st.builds(raft.EndQuorumEpochResponse, errors, epochs, leaders)
    | st.builds(
        raft.FetchResponse,
        errors,
        epochs,
        leaders,
        offsets,
        st.none() | points,
        st.none() | points,
        logs(),
    )
    | st.builds(
        raft.FetchSnapshotResponse,
        errors,
        epochs,
        leaders,
        points,
        offsets,
        offsets,
        st.binary(max_size=50),
    )
)


def over_the_wire(message: Message) -> Any:
    w = Writer()
    message.encode(w, message.MAX_VERSION)
    return type(message).decode(Reader(w.getvalue()), message.MAX_VERSION)


def placed(entry: Entry) -> Entry:
    """With its offset and epoch in its bytes, as they are where it has been written."""
    return next(decode_entries(encode_entries([entry])))


@given(requests, st.text(max_size=22))
def test_requests_come_through(message: raft.Request, cluster_id: str) -> None:
    request = over_the_wire(encode_request(message, cluster_id))
    assert request.cluster_id == cluster_id
    asked = decode_request(request)
    assert asked is not None
    match message:
        case raft.VoteRequest():
            sender = message.candidate.node_id
        case raft.BeginQuorumEpochRequest() | raft.EndQuorumEpochRequest():
            sender = message.leader_id
        case raft.FetchRequest() | raft.FetchSnapshotRequest():
            sender = message.replica.node_id
    assert asked == (sender, message)


@given(responses)
def test_responses_come_through(message: raft.Response) -> None:
    response = over_the_wire(encode_response(message))
    if isinstance(message, raft.FetchResponse):
        message = message._replace(entries=tuple(map(placed, message.entries)))
    assert decode_response(response) == message


@given(requests)
def test_an_error_for_all_of_a_request_says_nothing_of_raft(message: raft.Request) -> None:
    request: Any = encode_request(message, "c")
    refusal = over_the_wire(refuse(request, ErrorCode.INCONSISTENT_CLUSTER_ID))
    assert refusal.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert decode_response(refusal) is None


@given(requests)
def test_a_request_about_nothing_is_nobodys(message: raft.Request) -> None:
    request: Any = encode_request(message, "c")
    request.topics = []
    assert decode_request(request) is None


@given(logs(), st.data())
def test_entries_are_checked(entries: tuple[Entry, ...], data: st.DataObject) -> None:
    encoded = bytearray(encode_entries(entries))
    assert list(decode_entries(bytes(encoded))) == list(map(placed, entries))
    if encoded:
        with pytest.raises(RecordsError):
            list(decode_entries(bytes(encoded[:-1])))
        encoded[-1] ^= data.draw(st.integers(1, 255))
        with pytest.raises(RecordsError):
            list(decode_entries(bytes(encoded)))


def test_the_metadata_is_known_by_its_name_and_its_id() -> None:
    assert is_metadata_fetch(FetchRequest(topics=[FetchTopic(topic_id=METADATA_TOPIC_ID)]))
    assert is_metadata_fetch(FetchRequest(topics=[FetchTopic(topic="__cluster_metadata")]))
    assert not is_metadata_fetch(FetchRequest(topics=[FetchTopic(topic="t")]))
    assert not is_metadata_fetch(FetchRequest())


@given(st.lists(st.text(max_size=5), max_size=5), voter_sets)
def test_snapshots_come_back(names: list[str], found: VoterSet) -> None:
    records = [change(name) for name in names]
    content = encode_checkpoint(records, found, 7)
    assert voters_in_checkpoint(content) == found
    assert records_in_checkpoint(content) == records


def test_a_large_snapshot_comes_back_and_half_of_one_does_not() -> None:
    records = [change(str(number)) for number in range(2_500)]
    content = encode_checkpoint(records, VoterSet(), 7)
    assert records_in_checkpoint(content) == records
    for size in (0, 10, len(content) // 2, len(content) - 1):
        with pytest.raises(RecordsError):
            records_in_checkpoint(content[:size])


@given(points)
def test_a_snapshot_is_known_by_its_name(point: OffsetAndEpoch) -> None:
    assert snapshot_id_in(checkpoint_name(point)) == point
    assert snapshot_id_in(checkpoint_name(point) + ".tmp") is None


@given(st.builds(ElectionState, epochs, st.none() | keys))
def test_a_vote_is_remembered(election: ElectionState) -> None:
    assert decode_election("quorum-state", encode_election(election)) == election


def test_no_flipped_bit_gives_a_vote_to_another() -> None:
    """Or the replica would vote a second time in the same epoch."""
    election = ElectionState(7, ReplicaKey(2, bytes(range(16))))
    whole = encode_election(election)
    for at in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        with suppress(StorageError):
            assert decode_election("quorum-state", bytes(flipped)) == election


_NEWER_VOTE = (
    b'{"leaderId":-1,"leaderEpoch":7,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",'
    b'"data_version":2,"crc":12345}'
)


def test_a_flipped_bit_does_not_make_a_vote_one_of_a_newer_release() -> None:
    """Such a node would never start, instead of beginning again with the other voters."""
    content = encode_election(ElectionState(7))
    damaged = content.replace(b'"data_version":1', b'"data_version":3')
    assert damaged != content
    with pytest.raises(StorageError, match="version 3") as refused:
        decode_election("quorum-state", damaged)
    assert not isinstance(refused.value, NewerFormat)


@pytest.mark.parametrize(
    "content", [b'{"data_version":2}', b'{"data_version":2,"crc":1}', _NEWER_VOTE]
)
def test_a_vote_of_a_newer_release_is_not_damaged(content: bytes) -> None:
    with pytest.raises(NewerFormat):
        decode_election("quorum-state", content)


def test_a_vote_of_an_earlier_release_has_no_checksum() -> None:
    content = b'{"leaderId":-1,"leaderEpoch":7,"votedId":-1,"votedDirectoryId":"'
    content += b'AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    assert decode_election("quorum-state", content) == ElectionState(7, None)
