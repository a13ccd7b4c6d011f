"""A leader that is cut off from the controller: another one may have what it lacks."""

import pytest

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from tests.broker.fetch.leader import Leader

_CONSUMER = -1


@pytest.mark.parametrize(
    ("is_cut_off", "error"),
    [(False, ErrorCode.OFFSET_OUT_OF_RANGE), (True, ErrorCode.NOT_LEADER_OR_FOLLOWER)],
)
def test_only_a_leader_in_contact_says_that_an_offset_is_out_of_range(
    is_cut_off: bool, error: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RequestContext, "disconnect_after_response", lambda *_: None)
    leader = Leader(1)
    leader.write(0)
    leader.lifecycle.is_cut_off = is_cut_off
    answer = leader.received(leader.send({0: 50}, (0, -1), replica_id=_CONSUMER))
    assert answer.responses[0].partitions[0].error_code == error
    leader.loop.close()
