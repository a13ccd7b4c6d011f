"""What a connection does with frames, answers, back-pressure and ends.

Which requests may overlap in general is in test_request_order_model.py.
"""

import asyncio
import struct
from collections.abc import Iterator

import pytest

from barnabas.broker.net.connection import MAX_PARKED, MAX_WAITING_BYTES
from barnabas.broker.net.receive_buffer import INITIAL_BYTES
from barnabas.broker.net.request_order import PEER_CLIENT_ID
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.talk import LARGE, METADATA, PRODUCE, Talk, request


@pytest.fixture
def talk() -> Iterator[Talk]:
    talk = Talk()
    yield talk
    talk.loop.close()


def test_addresses(talk: Talk) -> None:
    assert (talk.connection.client_host, talk.connection.local_host) == ("10.0.0.1", "10.0.0.2")


@pytest.mark.parametrize("end", ["finish", "stop_accepting_requests"])
def test_nothing_is_read_or_kept_once_no_request_is_handled(talk: Talk, end: str) -> None:
    talk.send(b"?", b"a" * 500)
    getattr(talk.connection, end)()
    assert not talk.transport.reading
    assert talk.connection._received.capacity == 0
    talk.answer(0, b"1")
    assert talk.said == b"1"
    assert len(talk.handled) == 1
    assert talk.transport.closed == (end == "finish")


@pytest.mark.parametrize(("mechanism", "may"), [("BARNABAS-NODE", True), ("PLAIN", False)])
def test_clients_do_not_sign_in_over_the_limits(talk: Talk, mechanism: str, may: bool) -> None:
    talk.connection.probation = "max.connections is 1"
    frames = encode_request(SaslHandshakeRequest(mechanism), 1, 1, "c")
    talk.send(b"".join(frames)[4:])
    assert bool(talk.handled) == may
    assert talk.transport.closed != may


def test_answers_of_one_read_go_out_together(talk: Talk) -> None:
    talk.send(b"a", b"b", b"0", b"c")
    assert talk.transport.written == [b"abc"]


def _many(talk: Talk) -> list[bytes]:
    """Many requests that arrive at once, after a large one, which has let the buffer grow."""
    talk.connections.max_request_bytes = 100_000
    talk.send(bytes(90_000))
    talk.handled.clear()
    frames = [b"%d" % number + bytes(900) for number in range(1, 100)]

    async def send() -> None:
        talk.send(*frames)

    talk.loop.run_until_complete(send())
    return frames


def test_many_bytes_of_requests_are_handled_in_several_turns(talk: Talk) -> None:
    """Another connection is served in between."""
    frames = _many(talk)
    assert 0 < len(talk.handled) < len(frames)
    assert not talk.transport.reading
    while len(talk.handled) < len(frames):
        talk.loop.run_until_complete(asyncio.sleep(0))
    assert talk.handled == frames
    assert talk.transport.reading
    assert len(talk.transport.written) == 4, "the large one, and three turns of 32 KiB"


def test_a_client_that_closes_its_side_gets_the_answers_of_later_turns(talk: Talk) -> None:
    frames = _many(talk)
    assert talk.connection.eof_received()
    for _ in frames:
        talk.loop.run_until_complete(asyncio.sleep(0))
    assert talk.handled == frames
    assert talk.transport.closed


def test_nothing_overtakes_a_request_that_holds_the_connection(talk: Talk) -> None:
    """Although both are requests that may overlap, and whatever else lets a connection go on."""
    talk.send(request(b"?"), request(b"?hold"), request(b"b"))
    assert talk.handled == [b"?", b"?hold"]
    assert not talk.transport.reading
    talk.answer(0, b"1")
    talk.connection.pause_writing()
    talk.connection.resume_writing()

    async def be_muted() -> None:
        talk.mute(10)
        await asyncio.sleep(1)

    talk.loop.run_until_complete(be_muted())
    assert talk.handled == [b"?", b"?hold"]
    assert not talk.transport.reading
    talk.connection.release()
    assert talk.handled == [b"?", b"?hold", b"b"]
    assert talk.transport.reading
    talk.answer(1, b"2")
    assert talk.said == b"12b"


def test_a_connection_that_is_lost_is_released_without_effect(talk: Talk) -> None:
    talk.send(request(b"?hold"), request(b"b"))
    talk.connection.connection_lost(None)
    talk.connection.release()
    assert talk.handled == [b"?hold"]


def test_requests_behind_a_parked_one_wait_for_it(talk: Talk) -> None:
    talk.send(b"a", b"?", b"b", b"0", b"?", b"c")
    assert talk.handled == [b"a", b"?"]
    assert talk.connection.is_waiting
    talk.answer(0, b"1")
    assert talk.handled == [b"a", b"?", b"b", b"0", b"?"]
    assert talk.said == b"a1b"
    talk.answer(1, b"2")
    assert talk.said == b"a1b2c"
    assert not talk.connection.is_waiting
    talk.send(b"d")
    assert talk.said == b"a1b2cd"


@pytest.mark.parametrize(
    ("api_key", "client_id"), [(PRODUCE, b"c"), (METADATA, PEER_CLIENT_ID.encode() + b"2")]
)
def test_those_that_may_overlap_are_answered_in_order(
    talk: Talk, api_key: int, client_id: bytes
) -> None:
    talk.send(*(request(each, api_key, client_id) for each in (b"?", b"b", b"0", b"?", b"c")))
    assert talk.handled == [b"?", b"b", b"0", b"?", b"c"]
    talk.answer(1, b"2")
    assert talk.said == b""
    talk.answer(0, b"1")
    assert talk.said == b"1b2c"


def test_another_request_waits_for_all_that_overlap_and_holds_up_the_next(talk: Talk) -> None:
    talk.send(request(b"?"), request(b"?"), request(b"a", METADATA), request(b"?"))
    assert talk.handled == [b"?", b"?"]
    talk.answer(1, b"2")
    assert talk.handled == [b"?", b"?"]
    talk.answer(0, b"1")
    assert talk.handled == [b"?", b"?", b"a", b"?"]
    talk.answer(2, b"3")
    assert talk.said == b"12a3"


def test_little_is_read_behind_a_request_that_has_to_wait(talk: Talk) -> None:
    talk.send(b"?", *[b"x" * 1000] * (MAX_WAITING_BYTES // 1004))
    assert talk.transport.reading
    talk.send(b"x" * 1000)
    assert not talk.transport.reading
    talk.answer(0, b"1")
    assert talk.transport.reading
    assert len(talk.handled) == MAX_WAITING_BYTES // 1004 + 2


def test_a_full_row_stops_the_reading(talk: Talk) -> None:
    talk.send(*[request(b"?")] * (MAX_PARKED + 1), b"a")
    assert len(talk.parked) == MAX_PARKED
    assert not talk.transport.reading
    talk.answer(0, b"1")
    assert len(talk.parked) == MAX_PARKED + 1
    assert not talk.transport.reading
    for number in range(1, MAX_PARKED + 1):
        talk.answer(number, b"1")
    assert talk.transport.reading
    assert talk.said == b"1" * (MAX_PARKED + 1) + b"a"


def test_large_answers_that_wait_stop_the_reading(talk: Talk) -> None:
    talk.send(request(b"?"), *[request(b"L")] * 10, b"a")
    assert talk.handled == [b"?", *[b"L"] * 4]
    assert not talk.transport.reading
    talk.answer(0, b"1")
    assert talk.said == b"1" + LARGE * 10 + b"a"
    assert talk.transport.reading


def test_a_large_answer_that_comes_meanwhile_counts(talk: Talk) -> None:
    talk.send(request(b"?"), request(b"?"), *[request(b"L")] * 3)
    talk.answer(1, LARGE)
    talk.send(request(b"a"))
    assert b"a" not in talk.handled
    assert not talk.transport.reading
    talk.answer(0, b"1")
    assert talk.said == b"1" + LARGE * 4 + b"a"


def test_a_client_that_does_not_read_is_not_read_from(talk: Talk) -> None:
    talk.send(b"a")
    talk.connection.pause_writing()
    talk.send(b"b", b"c")
    assert talk.handled == [b"a"]
    assert not talk.transport.reading
    talk.connection.resume_writing()
    assert talk.transport.reading
    assert talk.said == b"abc"


def test_an_answer_counts_as_unread_until_the_client_takes_it(talk: Talk) -> None:
    talk.send(b"a")
    assert talk.connections.unread.total == 0
    talk.transport.takes = False
    talk.send(b"bcd")
    assert talk.connections.unread.total == 3
    talk.connection.resume_writing()
    assert talk.connections.unread.total == 0


def test_an_unread_answer_is_forgotten_with_its_connection(talk: Talk) -> None:
    talk.transport.takes = False
    talk.send(b"bcd")
    talk.connection.connection_lost(None)
    assert talk.connections.unread.total == 0


def test_a_request_counts_while_it_arrives(talk: Talk) -> None:
    frame = struct.pack(">i", 4 * INITIAL_BYTES) + bytes(4 * INITIAL_BYTES)
    talk.connections.max_request_bytes = len(frame)
    talk.receive(frame[: 3 * INITIAL_BYTES])
    assert talk.connections.arriving.total == 4 * INITIAL_BYTES
    talk.receive(frame[3 * INITIAL_BYTES :])
    assert talk.connections.arriving.total == 0


def test_a_request_that_has_waited_counts_no_more(talk: Talk) -> None:
    talk.connections.max_request_bytes = 4 * INITIAL_BYTES
    talk.send(b"?", bytes(3 * INITIAL_BYTES))
    assert talk.connections.arriving.total > 0
    talk.answer(0, b"1")
    assert talk.connections.arriving.total == 0


@pytest.mark.parametrize("how", ["cancel", "fail"])
def test_an_answer_that_will_not_come_ends_the_connection(talk: Talk, how: str) -> None:
    talk.send(b"?", b"a")
    if how == "cancel":
        talk.parked[0].cancel()
    else:
        talk.parked[0].set_exception(ZeroDivisionError())
    talk.turn()
    assert talk.transport.closed
    assert talk.said == b""


def test_nothing_is_handled_behind_a_bad_frame(talk: Talk) -> None:
    talk.send(b"a", b"!", b"b")
    assert talk.handled == [b"a", b"!"]
    assert talk.said == b"a"
    assert talk.transport.closed


def test_a_frame_that_is_too_large(talk: Talk) -> None:
    talk.send(b"x" * 1000)
    assert talk.said == b"x" * 1000
    talk.send(b"x" * 1001)
    assert talk.transport.closed


def test_a_lost_connection_lets_go_of_what_it_waits_for(talk: Talk) -> None:
    talk.send(request(b"?"), request(b"?"), b"a")
    talk.connection.connection_lost(None)
    talk.turn()
    assert all(future.cancelled() for future in talk.parked)
    assert talk.connections.inside == set()
    assert talk.said == b""


def test_requests_that_have_not_begun_are_dropped_with_the_connection(talk: Talk) -> None:
    talk.send(b"?", b"a")
    talk.connection.connection_lost(None)
    talk.turn()
    assert talk.handled == [b"?"]


def test_a_client_that_closes_its_side_is_served_to_the_end(talk: Talk) -> None:
    talk.send(b"?", b"a", b"?", b"b")
    assert talk.connection.eof_received()
    talk.answer(0, b"1")
    assert not talk.transport.closed
    talk.answer(1, b"2")
    assert talk.said == b"1a2b"
    assert talk.transport.closed


def test_a_client_that_closes_its_side_and_waits_for_nothing_else(talk: Talk) -> None:
    """As when it has died: what it waits for is given up."""
    talk.send(b"?")
    assert not talk.connection.eof_received()


def test_when_the_broker_stops_only_answers_go_out(talk: Talk) -> None:
    talk.send(b"?")
    talk.connection.stop_accepting_requests()
    talk.send(b"a")
    talk.answer(0, b"1")
    assert talk.handled == [b"?"]
    assert talk.said == b"1"


def test_a_muted_connection_is_not_read_until_the_time_is_over(talk: Talk) -> None:
    async def scenario() -> None:
        talk.send(b"a", b"?")
        talk.mute(50)
        assert not talk.transport.reading
        talk.send(b"b")  # what was read before
        talk.parked[0].set_result([b"1"])
        await asyncio.sleep(0.01)
        assert (talk.handled, talk.said) == ([b"a", b"?"], b"a1"), "answers are still sent"
        talk.mute(100)
        talk.mute(10)
        await asyncio.sleep(0.06)
        assert talk.handled == [b"a", b"?"], "the longest time counts"
        await asyncio.sleep(0.1)
        assert (talk.said, talk.transport.reading) == (b"a1b", True)

    talk.loop.run_until_complete(scenario())


def test_a_muted_connection_can_be_lost_and_blocked(talk: Talk) -> None:
    async def scenario() -> None:
        talk.mute(10)
        talk.connection.pause_writing()
        await asyncio.sleep(0.03)
        talk.send(b"a")
        assert talk.handled == [], "its client does not read"
        talk.mute(20)
        talk.connection.resume_writing()
        assert talk.handled == []
        await asyncio.sleep(0.04)
        assert talk.handled == [b"a"]
        talk.mute(10)
        talk.connection.connection_lost(None)
        await asyncio.sleep(0.03)

    talk.loop.run_until_complete(scenario())
