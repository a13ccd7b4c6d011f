"""Frames: length, header and message, compared with kafka-python's where it has them."""

import pytest
from kafka.protocol.consumer import HeartbeatRequest as TheirRequest
from kafka.protocol.consumer import HeartbeatResponse as TheirResponse
from kafka.protocol.metadata import ApiVersionsResponse as TheirApiVersionsResponse

from barnabas.wire.framing import (
    correlation_id_of,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.primitives import Reader, WireError, Writer

HEARTBEATS = range(HeartbeatRequest.MIN_VERSION, HeartbeatRequest.MAX_VERSION + 1)
REQUEST = HeartbeatRequest(group_id="readers", generation_id=7, member_id="one")


@pytest.mark.parametrize("version", HEARTBEATS)
def test_a_request_frame_is_that_of_kafka_python(version: int) -> None:
    theirs = TheirRequest(group_id="readers", generation_id=7, member_id="one", version=version)
    theirs.with_header(correlation_id=42, client_id="me")
    frame = b"".join(encode_request(REQUEST, version, 42, "me"))
    assert frame == theirs.encode(header=True, framed=True)


@pytest.mark.parametrize("version", HEARTBEATS)
def test_a_request_frame_comes_back(version: int) -> None:
    frame = b"".join(encode_request(REQUEST, version, 42, None))
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    r = Reader(memoryview(frame)[4:])
    header = decode_request_header(r)
    assert (header.api_key, header.api_version) == (12, version)
    assert (header.correlation_id, header.client_id) == (42, None)
    assert decode_request(r, HeartbeatRequest, version) == REQUEST


@pytest.mark.parametrize("version", HEARTBEATS)
def test_a_response_frame_is_that_of_kafka_python(version: int) -> None:
    theirs = TheirResponse(throttle_time_ms=0, error_code=27, version=version)
    theirs.with_header(correlation_id=42)
    ours = HeartbeatResponse(error_code=27)
    frame = b"".join(encode_response(ours, version, 42))
    assert frame == theirs.encode(header=True, framed=True)
    assert correlation_id_of(frame[4:]) == 42
    assert decode_response(frame[4:], HeartbeatResponse, version) == ours


@pytest.mark.parametrize("version", range(5))
def test_api_versions_always_answers_with_the_old_header(version: int) -> None:
    theirs = TheirApiVersionsResponse(error_code=0, api_keys=[(0, 3, 13)], version=version)
    theirs.with_header(correlation_id=42)
    ours = ApiVersionsResponse(api_keys=[ApiVersion(0, 3, 13)])
    frame = b"".join(encode_response(ours, version, 42))
    assert frame == theirs.encode(header=True, framed=True)
    assert decode_response(frame[4:], ApiVersionsResponse, version) == ours


def test_large_records_are_sent_and_received_without_a_copy() -> None:
    records = bytearray(b"r" * 100_000)
    request = ProduceRequest(
        topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, records)])]
    )
    buffers = encode_request(request, 9, 1, None)
    assert any(buffer is records for buffer in buffers)
    received = bytearray(b"".join(buffers))
    r = Reader(memoryview(received)[4:])
    decode_request_header(r)
    decoded = decode_request(r, ProduceRequest, 9)
    view = decoded.topic_data[0].partition_data[0].records
    assert isinstance(view, memoryview)
    assert view.obj is received
    assert view == records


def test_what_follows_a_request_is_passed_over() -> None:
    """librdkafka 2.16 asks for all topics with three bytes too many, and Kafka answers."""
    all_topics = bytes.fromhex("00 00000000 01 00 00")
    request = decode_request(Reader(all_topics), MetadataRequest, 13)
    assert request.topics is None


def test_what_follows_a_response_is_refused() -> None:
    frame = b"".join(encode_response(HeartbeatResponse(), 0, 1))[4:]
    with pytest.raises(WireError, match="1 bytes follow HeartbeatResponse v0"):
        decode_response(frame + b"\0", HeartbeatResponse, 0)


def test_a_response_too_short_for_its_header_is_refused() -> None:
    with pytest.raises(WireError):
        correlation_id_of(b"\0\0\0")
    with pytest.raises(WireError):
        decode_response(b"\0\0\0", HeartbeatResponse, 0)


def test_a_string_too_long_for_its_length_is_refused() -> None:
    with pytest.raises(WireError, match="32768 bytes is too long"):
        Writer().string("x" * 32768)
