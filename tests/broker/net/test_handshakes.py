"""Bounds on handshakes."""

import asyncio

import pytest

from barnabas.broker.net import handshakes
from barnabas.broker.net.handshakes import MAX_HANDSHAKES, MAX_HELD, Handshakes
from tests.client.virtual_time import run


class Handshake:
    def __init__(self) -> None:
        self.host = "a"
        self.ended: str | None = None
        self.has_proceeded = False

    def proceed(self) -> None:
        self.has_proceeded = True

    def give_up(self, why: str) -> None:
        self.ended = why


def test_the_newest_replaces_the_oldest() -> None:
    async def main() -> None:
        under_way = Handshakes(asyncio.get_running_loop())
        crowd = [Handshake() for _ in range(MAX_HANDSHAKES + 2)]
        for number, each in enumerate(crowd):
            under_way.begin(each)
            if number == 1:
                under_way.end(each)  # it is complete
        assert [number for number, each in enumerate(crowd) if each.ended] == [0]
        for each in crowd:
            under_way.end(each)

    run(main())


def test_a_slow_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_TIMEOUT_S", 0.01)

    async def main() -> None:
        under_way = Handshakes(asyncio.get_running_loop())
        slow, quick = Handshake(), Handshake()
        under_way.begin(slow)
        under_way.begin(quick)
        under_way.end(quick)
        await asyncio.sleep(0.05)
        assert slow.ended is not None
        assert quick.ended is None

    run(main())


def test_those_over_their_limits_wait_and_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "HELD_S", 0.01)

    async def main() -> None:
        under_way = Handshakes(asyncio.get_running_loop())
        held = [Handshake() for _ in range(MAX_HELD + 3)]
        for each in held:
            under_way.begin(each)
            under_way.hold(each)
        assert [each.ended is not None for each in held] == [True] * 3 + [False] * MAX_HELD
        assert under_way.of("a") == MAX_HELD
        under_way.end(held[-1])
        assert not any(each.has_proceeded for each in held)
        await asyncio.sleep(0.05)
        assert [each.has_proceeded for each in held] == [
            *[False] * 3,
            *[True] * (MAX_HELD - 1),
            False,
        ]
        for each in held:
            under_way.end(each)
        assert under_way.of("a") == 0

    run(main())
