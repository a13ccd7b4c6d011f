"""Two clocks have to agree on how much time has passed since something was stored."""

from pathlib import Path
from typing import Any

from barnabas.broker.quorum.cluster_time import ClusterTime
from tests.broker.quorum.member import Members, change
from tests.broker.quorum.test_quorum import PATIENT, run
from tests.support.wait import wait_until_async

WEEK_MS = 7 * 24 * 60 * 60_000


class FakeClock:
    def __init__(self, now_ms: int) -> None:
        self.now = now_ms

    def steady_ms(self) -> int:
        return self.now


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
        clock = leader.quorum.shell._clock  # type: ignore[union-attr]
        now_ms = clock.now_ms
        clock.now_ms = lambda: now_ms() - WEEK_MS  # type: ignore[method-assign]
        await leader.quorum.propose([change("a")])
        follower = members.others(leader)[0]
        await wait_until_async(lambda: follower.quorum.clock_lead_ms > WEEK_MS // 2)

    run(Members(tmp_path, config=PATIENT), scenario)
