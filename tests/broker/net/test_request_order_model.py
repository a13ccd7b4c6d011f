"""Which requests of a connection overlap, against a simple model: any requests, cut anywhere,
answered in any order."""

import struct
from dataclasses import dataclass
from itertools import accumulate, takewhile

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.net.connection import MAX_PARKED
from barnabas.broker.net.peers import claims_to_be_peer, peer_client_id
from barnabas.broker.net.request_order import PEER_CLIENT_ID, RequestKind, kind_of, may_overlap
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import ProduceRequest
from tests.broker.talk import METADATA, PRODUCE, Talk, request

KINDS = list(RequestKind)
PEER = PEER_CLIENT_ID.encode() + b"1"


@dataclass
class Asked:
    """A request of the model. One that `waits` is answered later."""

    number: int
    kind: RequestKind
    waits: bool

    @property
    def says(self) -> bytes:
        return b"%s%04d" % (b"?" if self.waits else b"=", self.number)

    @property
    def frame(self) -> bytes:
        return request(
            self.says,
            PRODUCE if self.kind is RequestKind.PRODUCE else METADATA,
            PEER if self.kind is RequestKind.PEER else b"client",
        )


def expected_to_begin(arrived: list[Asked], answered: set[int]) -> list[Asked]:
    """The model: in the order of the requests, each when nothing is in its way."""
    begun: list[Asked] = []
    for each in arrived:
        # Behind the first that is still waited for, all that have begun overlap with each other.
        pending = [one for one in begun if one.waits and one.number not in answered]
        parked = begun[begun.index(pending[0]) :] if pending else []
        if len(parked) == MAX_PARKED or any(not may_overlap(one.kind, each.kind) for one in parked):
            break
        begun.append(each)
    return begun


requests = st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=100)


@given(requests, st.data())
def test_requests_begin_when_nothing_is_in_their_way(
    drawn: list[tuple[RequestKind, bool]], data: st.DataObject
) -> None:
    asked = [Asked(number, *each) for number, each in enumerate(drawn)]
    stream = b"".join(struct.pack(">i", len(each.frame)) + each.frame for each in asked)
    ends = list(accumulate(len(each.frame) + 4 for each in asked))
    talk = Talk()
    sent, answered = 0, set[int]()
    begun_before = 0
    try:
        while sent < len(stream) or len(answered) < sum(each.waits for each in asked):
            pending = [n for n, future in enumerate(talk.parked) if not future.done()]
            if sent < len(stream) and (not pending or data.draw(st.booleans())):
                size = data.draw(st.integers(1, min(1000, len(stream) - sent)))
                talk.receive(stream[sent : sent + size])
                sent += size
            else:
                index = data.draw(st.sampled_from(pending))
                waiting = [each for each in asked if each.waits]
                answered.add(waiting[index].number)
                talk.answer(index, waiting[index].says)
            arrived = [each for each in asked if ends[each.number] <= sent]
            begun = expected_to_begin(arrived, answered)
            assert talk.handled == [each.says for each in begun]
            assert len(begun) >= begun_before  # what has begun has begun
            begun_before = len(begun)
            said = takewhile(lambda each: not each.waits or each.number in answered, begun)
            assert talk.said == b"".join(each.says for each in said)
        assert talk.said == b"".join(each.says for each in asked)
        assert talk.transport.reading
        assert not talk.connection.is_waiting
    finally:
        talk.loop.close()


def test_only_produces_and_peers_overlap_each_with_its_like() -> None:
    overlapping = {(a, b) for a in KINDS for b in KINDS if may_overlap(a, b)}
    assert overlapping == {
        (RequestKind.PRODUCE, RequestKind.PRODUCE),
        (RequestKind.PEER, RequestKind.PEER),
    }


@given(st.one_of(st.none(), st.text(max_size=30)), st.integers(1, 5))
def test_the_kind_is_told_from_the_header(client_id: str | None, node_id: int) -> None:
    produce = b"".join(encode_request(ProduceRequest(), 9, 1, client_id))[4:]
    assert kind_of(produce) is RequestKind.PRODUCE
    metadata = b"".join(encode_request(MetadataRequest([]), 9, 1, client_id))[4:]
    assert (kind_of(metadata) is RequestKind.PEER) == claims_to_be_peer(client_id or "")
    of_node = b"".join(encode_request(MetadataRequest([]), 9, 1, peer_client_id(node_id)))[4:]
    assert kind_of(of_node) is RequestKind.PEER


@given(st.binary(max_size=30))
def test_any_bytes_have_a_kind(frame: bytes) -> None:
    assert kind_of(memoryview(frame)) in KINDS
