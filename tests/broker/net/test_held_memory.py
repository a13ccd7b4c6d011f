"""Who is closed when clients hold more than they may, all together."""

from barnabas.broker.net.held_memory import HeldMemory


class Guest:
    client_host = "a"

    def __init__(self, *, is_admitted: bool = True) -> None:
        self.aborted = False
        self.is_admitted = is_admitted

    def abort(self) -> None:
        self.aborted = True


class Clock:
    now = 1.0

    def __call__(self) -> float:
        return self.now


def held(max_bytes: int) -> tuple[HeldMemory, Clock]:
    clock = Clock()
    memory = HeldMemory("something", "some.setting", clock)
    memory.max_bytes = max_bytes
    return memory, clock


def test_within_the_limit_nobody_is_closed() -> None:
    memory, _ = held(100)
    one, other = Guest(), Guest()
    memory.add(one, 50)
    memory.add(other, 50)
    assert (memory.room(), one.aborted, other.aborted) == (0, False, False)
    memory.forget(one)
    assert memory.room() == 50


def test_strangers_are_closed_before_those_who_have_signed_in() -> None:
    memory, _ = held(100)
    signed_in = Guest()
    strangers = [Guest(is_admitted=False) for _ in range(8)]
    memory.add(signed_in, 80)
    for stranger in strangers:
        memory.add(stranger, 5)
    assert not signed_in.aborted
    assert any(stranger.aborted for stranger in strangers)


def test_who_holds_the_most_for_the_longest_is_closed() -> None:
    memory, clock = held(100)
    large_and_old, small_and_old, large_and_new = Guest(), Guest(), Guest()
    memory.add(large_and_old, 40)
    memory.add(small_and_old, 1)
    clock.now = 10.0
    memory.add(large_and_new, 60)
    assert [guest.aborted for guest in (large_and_old, small_and_old, large_and_new)] == [
        True,
        False,
        False,
    ]


def test_memory_of_the_closed_counts_until_they_are_gone() -> None:
    memory, _ = held(100)
    first, second = Guest(), Guest()
    memory.add(first, 90)
    memory.add(second, 60)
    assert (first.aborted, second.aborted) == (True, False)
    assert memory.is_exceeded
    assert memory.room() == 0
    memory.add(second, 1)  # what the first one had is as good as gone
    assert not second.aborted
    memory.forget(first)
    assert (memory.total, memory.is_exceeded) == (61, False)


def test_one_alone_is_closed_too() -> None:
    memory, _ = held(100)
    guest = Guest()
    memory.add(guest, 101)
    assert guest.aborted
    memory.add(guest, 50)
    memory.forget(guest)
    assert memory.total == 0
    memory.add(Guest(), 100)
    assert memory.room() == 0


def test_who_grows_and_shrinks_is_counted_once() -> None:
    memory, _ = held(100)
    guest = Guest()
    for more in (16, 16, 32, -32):
        memory.add(guest, more)
    assert memory.held_by(guest) == memory.total == 32
