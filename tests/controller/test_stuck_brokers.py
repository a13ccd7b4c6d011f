"""Brokers that send heartbeats and replay nothing, because their disk is full: they would not know
that they lead, so others of the in-sync set do."""

import pytest

from barnabas.controller.lost_replicas import UNWRITABLE_DIRECTORY
from barnabas.controller.replica_ends import ReplicaEnd
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tests.controller.small_cluster import SESSION_MS, UNCLEAN, SmallCluster

BEAT_MS = 500
BOUND_MS = 2 * SESSION_MS


class ClusterWithFullDisks(SmallCluster):
    """Brokers in `full` replay nothing more."""

    def __init__(self, brokers: int = 3, **options: object) -> None:
        self.full: dict[int, int] = {}
        """How far each had replayed when its disk became full."""
        self.said: list[str] = []
        super().__init__(brokers, **options)  # type: ignore[arg-type]

    def fill(self, *broker_ids: int) -> None:
        self.full |= dict.fromkeys(broker_ids, self.end_offset)

    def make_room(self) -> None:
        self.full.clear()

    def acts(self, leader_id: int) -> bool:
        return super().acts(leader_id) and leader_id not in self.full

    def beats(self, for_ms: int = 2 * BEAT_MS) -> None:
        """All that are alive send heartbeats, and the controller does what is due."""
        for _ in range(for_ms // BEAT_MS):
            self.now_ms += BEAT_MS
            for broker in tuple(self.agreed.brokers.values()):
                if not broker.fenced:
                    self.beat(broker.id, offset=self.full.get(broker.id))
            self.tick()
            self.said += self.warnings

    def something_happens(self) -> None:
        """So that who replays nothing is behind."""
        self.create([1], name=f"topic-{self.end_offset}")
        self.beats()


# -- elections -------------------------------------------------------------------------------------


def test_a_broker_that_keeps_up_is_elected_before_one_that_does_not() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3])
    cluster.fill(2)
    cluster.something_happens()
    cluster.kill(1)
    assert cluster.state() == (3, [2, 3])


def test_also_in_a_controlled_shutdown() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3])
    cluster.fill(2)
    cluster.something_happens()
    cluster.beat(1, want_shut_down=True)
    assert cluster.state()[0] == 3


def test_also_among_eligible_leaders() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3], **{"min.insync.replicas": "3"})
    cluster.set_isr([1])
    assert cluster.partition().elr == [2, 3]
    cluster.fill(2)
    cluster.something_happens()
    cluster.kill(1)
    assert cluster.state() == (3, [3])


def test_also_when_a_reassignment_ends() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3])
    cluster.fill(2)
    cluster.something_happens()
    assert cluster.move([2, 3]) == 0
    assert cluster.state() == (3, [2, 3])


def test_also_when_a_leader_can_not_append() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3])
    cluster.create([1, 2], name="u")
    cluster.fill(2)
    cluster.something_happens()
    assert cluster.lose(1, directory=UNWRITABLE_DIRECTORY) == 0
    assert cluster.state() == (3, [2, 3])
    assert cluster.lose(1, name="u", directory=UNWRITABLE_DIRECTORY) == 0
    assert cluster.state(name="u") == (2, [1, 2])  # which has the records at least


def test_an_unclean_election_takes_the_longest_log_and_then_who_keeps_up() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3], **UNCLEAN)
    cluster.set_isr([1])
    cluster.fill(2)
    cluster.something_happens()
    cluster.kill(1)
    assert cluster.state() == (3, [3])

    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3], **UNCLEAN)
    cluster.set_isr([1])
    cluster.ends[3] = ReplicaEnd(0, 99)
    cluster.fill(2)
    cluster.something_happens()
    cluster.kill(1)
    assert cluster.state() == (2, [2])


def test_who_does_not_keep_up_is_better_than_nobody_and_than_an_outsider() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3])
    cluster.set_isr([1, 2])
    cluster.fill(2)
    cluster.something_happens()
    cluster.kill(1)
    assert cluster.state() == (2, [1, 2])
    cluster.beats(3 * BOUND_MS)
    assert cluster.state()[0] == 2


def test_if_all_are_behind_the_order_of_replicas_decides() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3])
    cluster.fill(2, 3)
    cluster.something_happens()
    cluster.kill(1)
    assert cluster.state()[0] == 2


# -- leaders that turn out to be stuck --------------------------------------------------------


def stuck_leader(cluster: ClusterWithFullDisks) -> None:
    """Nothing has happened since its disk became full, so that it was elected."""
    cluster.create([1, 2, 3])
    cluster.beats()
    cluster.fill(2)
    cluster.beats()
    cluster.kill(1)
    assert cluster.state()[0] == 2


def test_a_leader_that_replays_nothing_is_replaced_after_a_while() -> None:
    cluster = ClusterWithFullDisks()
    stuck_leader(cluster)
    cluster.beats(BOUND_MS)
    assert cluster.state()[0] == 2
    cluster.beats(3 * BEAT_MS)
    leader, isr = cluster.state()
    assert leader == 3
    assert set(isr) >= {2, 3}
    (said,) = cluster.said
    assert "broker 2 does not replay the metadata log" in said
    assert "lead 1 partition " in said
    epoch = cluster.partition().leader_epoch
    cluster.beats(10 * BOUND_MS)
    assert cluster.partition().leader_epoch == epoch


def test_leadership_returns_when_there_is_room() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([2, 3])
    cluster.beats()
    cluster.fill(2)
    cluster.something_happens()
    cluster.beats(BOUND_MS + BEAT_MS)
    assert cluster.state() == (3, [2, 3])
    cluster.beats(100_000)
    assert cluster.state() == (3, [2, 3])
    cluster.make_room()
    cluster.beats(300_000)
    assert cluster.state() == (2, [2, 3])


def test_no_leader_is_replaced_if_all_are_behind() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3], [2, 3, 1], [3, 1, 2])
    cluster.beats()
    cluster.fill(1, 2, 3)
    cluster.something_happens()
    cluster.beats(5 * BOUND_MS)
    assert [cluster.state(index)[0] for index in range(3)] == [1, 2, 3]


def test_no_leader_is_replaced_because_another_catches_up_a_moment_earlier() -> None:
    """Nothing could be committed for long, so none could replay anything."""
    cluster = ClusterWithFullDisks()
    cluster.create([1, 2, 3], [2, 3, 1], [3, 1, 2])
    cluster.beats()
    cluster.fill(1, 2, 3)
    cluster.something_happens()
    cluster.beats(5 * BOUND_MS)
    del cluster.full[3]
    cluster.beats(BOUND_MS)
    assert [cluster.state(index)[0] for index in range(3)] == [1, 2, 3]
    cluster.make_room()
    cluster.beats(5 * BOUND_MS)
    assert [cluster.state(index)[0] for index in range(3)] == [1, 2, 3]


def test_no_leader_is_replaced_while_it_makes_progress() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([2, 3])
    cluster.beats()
    cluster.fill(2)
    for _ in range(100):
        cluster.create([1], name=f"topic-{cluster.end_offset}")
        cluster.full[2] += 1
        cluster.beats(BEAT_MS)
    assert cluster.state() == (2, [2, 3])


def test_no_outsider_replaces_a_leader() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([2, 1, 3])
    cluster.set_isr([2])
    cluster.create([2, 3], name="u")
    cluster.beats()
    cluster.fill(2)
    cluster.something_happens()
    cluster.beats(5 * BOUND_MS)
    assert cluster.state() == (2, [2])
    assert cluster.state(name="u") == (3, [2, 3])


def test_a_replica_that_joins_later_replaces_it() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([2, 3])
    cluster.beats()
    cluster.kill(3)
    cluster.fill(2)
    cluster.something_happens()
    cluster.beats(2 * BOUND_MS)
    assert cluster.state() == (2, [2])
    cluster.restart(3)
    cluster.set_isr([2, 3])
    cluster.beats(2 * SESSION_MS)
    assert cluster.state() == (3, [2, 3])


def test_time_in_which_the_controller_stood_still_does_not_count() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([2, 3])
    cluster.beats()
    cluster.fill(2)
    cluster.something_happens()
    cluster.now_ms += BOUND_MS
    cluster.controller.stalled(BOUND_MS)
    cluster.beats(BOUND_MS - 4 * BEAT_MS)
    assert cluster.state() == (2, [2, 3])
    cluster.beats(5 * BEAT_MS)
    assert cluster.state() == (3, [2, 3])


def test_many_leaders_are_replaced_in_several_steps() -> None:
    cluster = ClusterWithFullDisks()
    cluster.create(*[[2, 3]] * 2500)
    cluster.beats()
    cluster.fill(2)
    cluster.something_happens()
    moved = []
    while cluster.state(2499)[0] == 2 and len(moved) < 100:
        cluster.beats(BEAT_MS)
        moved.append(len(cluster.records))
    assert max(moved) == 1000
    assert [cluster.state(index)[0] for index in (0, 2499)] == [3, 3]


def test_a_new_topic_is_led_by_a_broker_that_will_know() -> None:
    cluster = ClusterWithFullDisks()
    cluster.beats()
    cluster.fill(2)
    cluster.something_happens()
    cluster.beats(BOUND_MS)
    cluster.create([2, 3], [3, 2])
    assert [cluster.state(index) for index in range(2)] == [(3, [2, 3]), (3, [3, 2])]
    cluster.create([2], name="alone")
    assert cluster.state(name="alone") == (2, [2])
    cluster.create([2, 3], name="u")
    request = CreatePartitionsRequest([CreatePartitionsTopic("u", 6, None)])
    (result,) = cluster.agree(cluster.controller.create_partitions(request)).results
    assert result.error_code == 0
    assert cluster.state(0, "u") == (3, [2, 3])
    for index in range(1, 6):
        assert set(cluster.partition(index, "u").replicas) == {1, 3}


@pytest.mark.parametrize("is_known", [True, False])
def test_a_controlled_shutdown_does_not_wait_for_who_learns_nothing(is_known: bool) -> None:
    cluster = ClusterWithFullDisks()
    cluster.create([1, 3])
    cluster.beats()
    cluster.fill(2)
    cluster.something_happens()
    if is_known:
        cluster.beats(BOUND_MS)
    assert not cluster.beat(1, want_shut_down=True).should_shut_down
    cluster.beat(2, offset=cluster.full[2])
    cluster.beat(3)
    assert cluster.beat(1, want_shut_down=True).should_shut_down == is_known
