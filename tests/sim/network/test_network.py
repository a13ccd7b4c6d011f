"""What the simulated network does to bytes, and what processes see of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from barnabas.sim.network.network import Network
from barnabas.sim.process.loop import ProcessLoop
from barnabas.sim.process.simulator import Simulator


@dataclass
class Recorder(asyncio.Protocol):
    """Keeps what it hears."""

    received: bytearray = field(default_factory=bytearray)
    lost: list[Exception | None] = field(default_factory=list)
    transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)


class _Port:
    def getsockname(self) -> tuple[str, int]:
        return ("b", 1)


class World:
    """Two machines and a connection from a to b."""

    def __init__(self, seed: int = 1) -> None:
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator)
        self.a, self.b = (
            ProcessLoop(self.simulator, self.network, name, name, self.simulator.source(name))
            for name in "ab"
        )
        self.served: list[Recorder] = []
        self.here: Recorder | None = None
        self.error: OSError | None = None

    def _accept(self) -> Recorder:
        self.served.append(Recorder())
        return self.served[-1]

    def listen(self) -> None:
        self.b.call_soon(
            lambda: self.b.create_task(self.b.create_server(self._accept, sock=_Port()))
        )
        self.run(10)

    def connect(self) -> None:
        async def connect() -> None:
            try:
                _, self.here = await self.a.create_connection(Recorder, "b", 1)
            except OSError as error:
                self.error = error

        self.a.call_soon(lambda: self.a.create_task(connect()))
        self.run(100)

    def run(self, ms: int) -> None:
        self.simulator.run_until(self.simulator.now_us + ms * 1000)

    def say(self, data: bytes) -> None:
        assert self.here is not None
        assert self.here.transport is not None
        self.here.transport.write(data)

    @property
    def there(self) -> Recorder:
        return self.served[-1]


def _connected() -> World:
    world = World()
    world.listen()
    world.connect()
    assert world.here is not None
    return world


def test_bytes_arrive_in_order_whatever_the_delays() -> None:
    world = _connected()
    world.network.links.delays_us = (100, 200_000)
    world.network.links.split = 0.5
    sent = b"".join(b"%d," % number for number in range(300))
    for number in range(300):
        world.say(b"%d," % number)
    world.run(2_000)
    assert world.there.received == sent


def test_nobody_listens() -> None:
    world = World()
    world.connect()
    assert isinstance(world.error, ConnectionRefusedError)


def test_over_a_cut_link_nothing_arrives_until_it_is_healed() -> None:
    world = _connected()
    cut = world.network.cut({("a", "b")})
    world.say(b"x")
    world.run(1_000)
    assert not world.there.received
    world.network.heal(cut)
    world.run(1_000)
    assert world.there.received == b"x"


def test_a_link_may_be_cut_one_way() -> None:
    world = _connected()
    world.network.cut({("a", "b")})
    assert world.there.transport is not None
    world.there.transport.write(b"y")
    world.run(100)
    assert world.here is not None
    assert world.here.received == b"y"


def test_a_kernel_gives_up_and_the_other_side_learns_it_when_it_speaks() -> None:
    world = _connected()
    cut = world.network.cut({("a", "b"), ("b", "a")})
    world.say(b"x")
    world.run(world.network.links.give_up_us // 1000 + 100)
    assert world.here is not None
    assert isinstance(world.here.lost[0], TimeoutError)
    world.network.heal(cut)
    world.run(1_000)
    assert not world.there.lost
    assert world.there.transport is not None
    world.there.transport.write(b"y")
    world.run(1_000)
    assert isinstance(world.there.lost[0], ConnectionResetError)


def test_a_killed_process_is_noticed_at_once_and_a_machine_without_power_is_not() -> None:
    world = _connected()
    world.b.kill()
    world.network.process_killed(world.b)
    world.run(100)
    assert world.here is not None
    assert world.here.lost == [None]

    world = _connected()
    world.network.power_lost("b")
    world.b.kill()
    world.say(b"x")
    world.run(1_000)
    assert world.here is not None
    assert not world.here.lost
    world.network.power_restored("b")
    world.run(1_000)
    assert isinstance(world.here.lost[0], ConnectionResetError)


def test_what_a_broken_connection_had_on_its_way_comes_late_after_its_repetition() -> None:
    world = _connected()
    first = world.there
    world.say(b"once")
    world.network.between("ab")[0].linger(1_000_000)
    world.connect()
    world.say(b"again")
    world.run(100)
    assert world.there.received == b"again"
    assert not first.received
    world.run(2_000)
    assert first.received == b"once"
    assert first.lost


def test_nothing_comes_of_an_obliterated_connection() -> None:
    world = _connected()
    world.say(b"x")
    world.network.between("ab")[0].obliterate()
    world.run(10_000)
    assert not world.there.received
    assert world.there.lost


@pytest.mark.parametrize("how", ["close", "abort"])
def test_what_was_written_before_the_end_arrives_before_it(how: str) -> None:
    world = _connected()
    world.say(b"last words")
    assert world.here is not None
    end: Callable[[], None] = getattr(world.here.transport, how)
    end()
    world.run(100)
    assert world.there.received == b"last words"
    assert world.there.lost
    assert world.here.lost == [None]


def test_a_writer_is_told_to_wait_for_a_reader_that_does_not_read() -> None:
    world = _connected()
    paused: list[str] = []
    assert world.here is not None
    world.here.pause_writing = lambda: paused.append("pause")  # type: ignore[method-assign]
    world.here.resume_writing = lambda: paused.append("resume")  # type: ignore[method-assign]
    assert world.there.transport is not None
    world.there.transport.pause_reading()
    world.say(bytes(100_000))
    world.run(100)
    assert paused == ["pause"]
    assert not world.there.received
    world.there.transport.resume_reading()
    world.run(100)
    assert paused == ["pause", "resume"]
    assert len(world.there.received) == 100_000
