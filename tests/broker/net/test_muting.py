"""A muted connection is silent until the quota's clock says so, not the event loop's."""

import asyncio

from barnabas.broker.net.muting import Muting
from tests.client.virtual_time import VirtualTimeLoop


def test_it_ends_by_the_clock_of_the_quota() -> None:
    """The loop's clock was behind when it was asked, as after a long step: the timer is early."""
    loop = VirtualTimeLoop()
    ahead_s = 0.3
    ended: list[int] = []

    def now_ms() -> int:
        return int((loop.time() - ahead_s) * 1_000)

    muting = Muting(lambda: ended.append(now_ms()), now_ms)

    async def scenario() -> None:
        nonlocal ahead_s
        ahead_s = 0
        due = now_ms() + 1_000
        muting.extend(1_000)
        ahead_s = 0.3
        await asyncio.sleep(1.2)
        assert (ended, muting.is_on, round(muting.left_s, 1)) == ([], True, 0.1)
        await asyncio.sleep(0.2)
        assert (ended, muting.is_on, muting.left_s) == ([due], False, 0.0)

    loop.run_until_complete(scenario())
