"""Two clocks have to agree on how much time has passed since something was stored."""

from pathlib import Path
from typing import Any

from barnabas.broker.node import Node
from barnabas.broker.quorum.cluster_time import ClusterTime
from tests.broker.quorum.member import Member, Members, change
from tests.broker.quorum.test_quorum import PATIENT, run
from tests.support.wait import wait_until_async

WEEK_MS = 7 * 24 * 60 * 60_000


class FakeClock:
    def __init__(self, now_ms: int) -> None:
        self.now = now_ms

    def steady_ms(self) -> int:
        return self.now


def stamp_late(member: Member) -> None:
    """The clock of a member by which the others look a week ahead."""
    clock = member.quorum.shell._clock  # type: ignore[union-attr]
    now_ms = clock.now_ms
    clock.now_ms = lambda: now_ms() - WEEK_MS  # type: ignore[method-assign]


def test_a_clock_ahead_of_the_controllers_is_known_to_be() -> None:
    clock: Any = FakeClock(WEEK_MS)
    time = ClusterTime(clock)
    time.applied(10)
    assert time.lead_ms == WEEK_MS - 10
    clock.now += 1_000
    assert time.lead_ms == WEEK_MS - 10, "time passes for both"
    time.applied(clock.now + 5)
    assert time.lead_ms == 0


def test_followers_compare_their_clock_with_the_stamps_of_the_leader(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        stamp_late(leader)
        await leader.quorum.propose([change("a")])
        follower = members.others(leader)[0]
        await wait_until_async(lambda: follower.quorum.clock_lead_ms > WEEK_MS // 2)

    run(Members(tmp_path, config=PATIENT), scenario)


def test_a_clock_that_is_ahead_stays_so_when_its_node_leads(tmp_path: Path) -> None:
    """What the node stamps itself says nothing about its clock."""

    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        stamp_late(leader)
        await leader.quorum.propose([change("a")])
        await members.in_step()
        leader.quorum.resign()
        await wait_until_async(
            lambda: any(each.quorum.is_leader for each in members.others(leader))
        )
        ahead = await members.leader()
        await ahead.quorum.propose([change("b")])
        assert ahead.quorum.clock_lead_ms > WEEK_MS // 2

    run(Members(tmp_path, config=PATIENT), scenario)


def test_a_new_leader_that_has_stamped_nothing_yet_makes_no_clock_look_ahead(
    tmp_path: Path,
) -> None:
    """Nothing was decided for a week, so the last stamp is old. Time has passed for both."""

    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        await leader.quorum.propose([change("a")])
        await members.in_step()
        follower, other = members.others(leader)
        time: Any = follower.quorum.shell.cluster_time  # type: ignore[union-attr]
        time._clock = FakeClock(time._clock.steady_ms() + WEEK_MS)
        leader.quorum.resign()
        await wait_until_async(lambda: follower.quorum.is_leader or other.quorum.is_leader)
        await members.in_step()
        assert follower.quorum.clock_lead_ms < WEEK_MS // 2

    run(Members(tmp_path, config=PATIENT), scenario)


def test_what_expires_is_asked_for_the_lead_of_the_clock(local_node: Node) -> None:
    local_node.lifecycle.clock_lead_ms = WEEK_MS
    assert local_node.groups._config.clock_lead_ms() == WEEK_MS
    assert local_node.transactions._config.clock_lead_ms() == WEEK_MS


def test_a_controller_of_an_earlier_release_tells_by_its_stamps_alone(local_node: Node) -> None:
    local_node.lifecycle.clock_lead_ms = None
    shell = local_node.quorum.shell
    assert shell is not None
    shell.cluster_time.lead_ms = WEEK_MS
    assert local_node.groups._config.clock_lead_ms() == WEEK_MS
    assert local_node.transactions._config.clock_lead_ms() == WEEK_MS
