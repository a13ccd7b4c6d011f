"""Members of other protocols that ask for a share group."""

from barnabas.groups.group_type import GroupType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.groups.consumer.shell import ConsumerShell
from tests.groups.shell import GROUP


def share_beat(shell: ConsumerShell, epoch: int) -> ShareGroupHeartbeatResponse:
    token = shell.token()
    names = ["t"] if epoch == 0 else None
    request = ShareGroupHeartbeatRequest(GROUP, "s", epoch, subscribed_topic_names=names)
    shell.carry_out(
        shell.shard.share.heartbeat(
            request, token=token, client_id="c", client_host="h", now_ms=shell.now_ms
        )
    )
    answer = shell.answers[token]
    assert isinstance(answer, ShareGroupHeartbeatResponse)
    return answer


def test_an_empty_share_group_stays_one() -> None:
    shell = ConsumerShell()
    assert share_beat(shell, 0).error_code == ErrorCode.NONE
    assert share_beat(shell, -1).error_code == ErrorCode.NONE
    beat = shell.beat("c", topics=["t"], owned={}, rebalance_ms=1_000)
    assert shell.error(beat) == ErrorCode.GROUP_ID_NOT_FOUND
    joined = shell.answers[shell.join()]
    assert isinstance(joined, JoinGroupResponse)
    assert joined.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    state = shell.shard.image[GROUP].modern
    assert state is not None
    assert state.group_type is GroupType.SHARE
