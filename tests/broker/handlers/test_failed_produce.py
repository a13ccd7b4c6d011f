"""A Produce that fails unexpectedly, in a turn after its first: the connection is closed, and
neither the request nor the connection waits for ever."""

import logging

import pytest

from barnabas.wire.errors import ErrorCode
from tests.broker.handlers.produce_world import (
    BUG,
    LARGE,
    SMALL,
    TRANSACTIONAL,
    Closed,
    Later,
    Partition,
    World,
)


def _produced(
    partitions: list[Partition], caplog: pytest.LogCaptureFixture, acks: int = -1
) -> World:
    world = World(partitions)
    with caplog.at_level(logging.ERROR):
        world.produce(*[LARGE] * len(partitions), acks=acks)
        assert not world.transport.closed
        assert not world.transport.reading, "the connection is not held"
        for _ in range(5):
            world.turn()
    return world


def _has_failed(world: World, log: str) -> None:
    assert world.transport.closed
    assert not world.said
    assert not world.loose
    assert log.count("Traceback") == log.count("a bug") == 1
    assert "a request from 10.0.0.1 failed" in log
    world.connection.connection_lost(None)
    world.turn()
    assert not world.connection.is_waiting
    assert not world.connections.inside
    assert not world.loose


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_a_part_that_fails(acks: int, caplog: pytest.LogCaptureFixture) -> None:
    partitions = [Partition() for _ in range(4)] + [Partition(BUG), Partition()]
    world = _produced(partitions, caplog, acks)
    _has_failed(world, caplog.text)
    assert [each.stored for each in partitions] == [1, 1, 1, 1, 0, 0]


def test_the_last_part_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    partitions = [Partition() for _ in range(5)] + [Partition(BUG)]
    _has_failed(_produced(partitions, caplog), caplog.text)


def test_an_answer_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    """All is stored, and the last partition can't say how far it is committed."""
    partitions = [*(Partition() for _ in range(5)), Closed()]
    _has_failed(_produced(partitions, caplog), caplog.text)


def test_a_part_that_fails_when_the_client_has_gone(caplog: pytest.LogCaptureFixture) -> None:
    partitions = [Partition() for _ in range(4)] + [Partition(BUG)]
    world = World(partitions)
    with caplog.at_level(logging.ERROR):
        world.produce(*[LARGE] * len(partitions))
        world.connection.connection_lost(None)
        for _ in range(5):
            world.turn()
    assert not world.loose
    assert caplog.text.count("a bug") == 1


def test_a_batch_that_fails_once_it_is_compressed(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever waits in the same queue goes on, and nothing more of this request is stored."""
    threads = Later(passes=False)
    other = Partition()
    world = World([Partition(BUG), other], threads)
    with caplog.at_level(logging.ERROR):
        world.produce(SMALL, SMALL)
        for done in threads.waiting:
            done(SMALL)
        world.turn()
    _has_failed(world, caplog.text)
    assert other.stored == 0


def test_a_batch_that_fails_once_it_is_verified(caplog: pytest.LogCaptureFixture) -> None:
    world = World([Partition(BUG), Partition()])
    with caplog.at_level(logging.ERROR):
        world.produce(TRANSACTIONAL, TRANSACTIONAL, transactional_id="x")
        for done in world.verification.waiting:
            done(ErrorCode.NONE)
        world.turn()
    _has_failed(world, caplog.text)


def test_a_batch_that_fails_at_once_when_it_is_verified(caplog: pytest.LogCaptureFixture) -> None:
    """The transaction is known already."""
    world = World([Partition(BUG), Partition()])
    world.verification.answers_at_once = True
    with caplog.at_level(logging.ERROR):
        world.produce(TRANSACTIONAL, TRANSACTIONAL, transactional_id="x")
        world.turn()
    _has_failed(world, caplog.text)


def test_what_is_in_order_is_answered() -> None:
    threads = Later(passes=False)
    world = World([Partition()], threads)
    world.produce(SMALL)
    for done in threads.waiting:
        done(SMALL)
    world.turn()
    assert world.said
    assert not world.transport.closed
