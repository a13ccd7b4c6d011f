"""BrokerSessions, fencing, and brokers that leave in good order."""

import pytest

from barnabas.controller.decision import BrokerSilent, BrokerUnfenced
from barnabas.wire.errors import ErrorCode
from tests.controller.small_cluster import GRACE_MS, SESSION_MS, SmallCluster


def test_who_says_it() -> None:
    cluster = SmallCluster(1)
    assert cluster.beat(1, epoch=9).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.beat(2, epoch=0).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_silence_ends_a_session() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    cluster.now_ms = 1000
    cluster.beat(2)
    assert cluster.controller.next_deadline_ms() == SESSION_MS
    cluster.now_ms = SESSION_MS - 1
    cluster.tick()
    assert cluster.records == []
    cluster.tick(1)
    assert cluster.agreed.brokers[1].fenced
    assert not cluster.agreed.brokers[2].fenced
    assert cluster.state() == (2, [2])
    assert cluster.controller.next_deadline_ms() == 1000 + SESSION_MS
    assert not cluster.beat(1).is_fenced  # the same process, back in its old epoch
    assert cluster.state() == (2, [2])


def test_it_is_said_once_who_is_fenced_and_who_is_back() -> None:
    cluster = SmallCluster(2)
    assert cluster.broker_events == [BrokerUnfenced(2, is_back=False)]
    cluster.broker_events.clear()
    cluster.create([1, 2])
    cluster.now_ms = SESSION_MS
    cluster.beat(2)
    cluster.tick()
    cluster.tick(1)
    cluster.beat(1)
    cluster.beat(1)
    cluster.controller.disconnected(1, cluster.now_ms)
    cluster.tick(GRACE_MS)
    assert cluster.broker_events == [
        BrokerSilent(1, SESSION_MS, is_disconnected=False, led=1),
        BrokerUnfenced(1, is_back=True),
        BrokerSilent(1, GRACE_MS, is_disconnected=True, led=0),
    ]


def test_silence_while_the_controller_stood_still_does_not_count() -> None:
    cluster = SmallCluster(1)
    cluster.controller.stalled(2 * SESSION_MS)
    cluster.now_ms = 3 * SESSION_MS - 1
    cluster.tick()
    assert not cluster.agreed.brokers[1].fenced
    cluster.tick(1)
    assert cluster.agreed.brokers[1].fenced
    cluster.controller.stalled(SESSION_MS)  # fenced anyway


def test_a_controller_that_stands_still_again_and_again_notices_silence_in_the_end() -> None:
    cluster = SmallCluster(1)
    for _ in range(10):
        cluster.controller.stalled(SESSION_MS)
    cluster.now_ms = 3 * SESSION_MS
    cluster.tick()
    assert cluster.agreed.brokers[1].fenced


def test_a_heartbeat_begins_the_count_anew() -> None:
    cluster = SmallCluster(1)
    cluster.controller.stalled(10 * SESSION_MS)
    cluster.now_ms = 2 * SESSION_MS
    cluster.beat(1)
    cluster.controller.stalled(SESSION_MS)
    assert cluster.controller.next_deadline_ms() == 4 * SESSION_MS


def test_a_broken_connection_shortens_it() -> None:
    cluster = SmallCluster(2)
    cluster.controller.disconnected(1, 0)
    cluster.controller.disconnected(7, 0)
    assert cluster.controller.next_deadline_ms() == GRACE_MS
    cluster.beat(1)
    assert cluster.controller.next_deadline_ms() == SESSION_MS
    cluster.controller.disconnected(1, SESSION_MS - 10)
    assert cluster.controller.next_deadline_ms() == SESSION_MS
    cluster.now_ms = SESSION_MS
    cluster.tick()
    assert [broker.fenced for broker in cluster.agreed.brokers.values()] == [True, True]
    cluster.controller.disconnected(1, SESSION_MS)  # fenced anyway


def test_a_new_controller_begins_new_sessions() -> None:
    cluster = SmallCluster(2)
    cluster.kill(2)
    cluster.now_ms = 10_000
    cluster.controller = cluster.new_controller(cluster.agreed)
    assert cluster.controller.next_deadline_ms() == 10_000 + SESSION_MS
    cluster.tick(SESSION_MS)
    assert [broker.fenced for broker in cluster.agreed.brokers.values()] == [True, True]


def test_those_who_die_together_do_not_inherit_from_each_other() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3])
    cluster.create([2, 1], name="u")
    cluster.kill(1, 2)
    assert cluster.state() == (3, [3])
    assert cluster.state(name="u") == (-1, [2, 1])  # each of them has all that was committed
    epoch = cluster.partition(name="u").leader_epoch
    cluster.restart(1)
    assert cluster.state(name="u") == (1, [1])
    assert cluster.partition(name="u").leader_epoch == epoch + 1


def test_fencing_leaves_others_alone() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2], [2, 3], [3, 2])
    cluster.kill(1)
    assert len(cluster.records) == 2
    assert cluster.partition(1).partition_epoch == 0


def test_a_broker_may_ask_to_be_fenced() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    assert cluster.beat(1, want_fence=True).is_fenced
    assert cluster.state() == (2, [2])
    assert cluster.beat(1, want_fence=True).is_fenced
    assert cluster.records == []
    assert not cluster.beat(1).is_fenced


# -- controlled shutdown ---------------------------------------------------------------------------


def test_leaving_hands_leadership_over_first() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3], [2, 1, 3])
    answer = cluster.beat(1, want_shut_down=True)
    assert (answer.is_fenced, answer.should_shut_down) == (False, False)
    assert cluster.agreed.brokers[1].in_controlled_shutdown
    assert cluster.state(0) == (2, [2, 3])
    assert cluster.state(1) == (2, [2, 3])
    cluster.beat(2)
    assert not cluster.beat(1, want_shut_down=True).should_shut_down  # 3 does not know yet
    cluster.beat(3)
    assert cluster.beat(1, want_shut_down=True).should_shut_down
    assert cluster.agreed.brokers[1].fenced
    again = cluster.beat(1, want_shut_down=True)
    assert again.should_shut_down
    assert cluster.records == []
    assert cluster.beat(1).is_fenced  # until it registers again
    cluster.restart(1)
    assert cluster.agreed.brokers[1].is_active


def test_leaving_waits_for_a_follower_that_can_take_over() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    cluster.set_isr([1])
    cluster.beat(2)
    for _ in range(2):
        assert not cluster.beat(1, want_shut_down=True).should_shut_down
        cluster.beat(2)
    assert cluster.state() == (1, [1])
    result = cluster.set_isr([1, 2])
    assert result.error_code == ErrorCode.NEW_LEADER_ELECTED
    assert (result.leader_id, result.isr) == (2, [1, 2])
    assert cluster.state() == (2, [2])
    assert not cluster.beat(1, want_shut_down=True).should_shut_down
    cluster.beat(2)
    assert cluster.beat(1, want_shut_down=True).should_shut_down


@pytest.mark.parametrize("others", [1, 2])
def test_leaving_does_not_wait_for_nobody(others: int) -> None:
    cluster = SmallCluster(others)
    cluster.create([1])
    if others == 2:
        cluster.beat(1, want_shut_down=True)
        cluster.beat(2)
    assert cluster.beat(1, want_shut_down=True).should_shut_down
    assert cluster.state() == (-1, [1])
    cluster.restart(1)
    assert cluster.state() == (1, [1])


def test_who_is_leaving_still_leads_if_nobody_else_can() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2])
    cluster.beat(1, want_shut_down=True)
    assert cluster.state() == (2, [2])
    cluster.beat(2, want_shut_down=True)
    assert cluster.state() == (2, [2])
    cluster.beat(3)
    assert cluster.beat(2, want_shut_down=True).should_shut_down
    assert cluster.state() == (-1, [2])


def test_who_does_not_want_to_leave_any_more_registers_again() -> None:
    cluster = SmallCluster(1)
    cluster.create([1])
    epoch = cluster.epoch(1)
    assert cluster.beat(1, want_shut_down=True).should_shut_down
    assert cluster.state() == (-1, [1])
    assert cluster.beat(1).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.state() == (-1, [1])
    cluster.join(1, previous_epoch=epoch)
    assert cluster.state() == (1, [1])
