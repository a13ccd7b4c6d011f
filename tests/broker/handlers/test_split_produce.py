"""A Produce request that is stored in several turns: what it keeps, and what it tells."""

import weakref

from barnabas.broker.net.receive_buffer import KEPT_BYTES
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response
from barnabas.wire.messages.produce import ProduceResponse
from tests.broker.handlers.produce_world import LARGE, VERSION, Partition, World

COUNT = 8


class Slow(Partition):
    """Its followers have not fetched yet."""

    high_watermark = 0


def _stored(world: World, partitions: list[Partition]) -> None:
    for _ in range(COUNT):
        world.turn()
    assert [each.stored for each in partitions] == [1] * COUNT


def test_its_buffer_is_counted_until_it_is_stored_and_free_when_it_is() -> None:
    """Until then it counts as arriving; after that it may wait for followers for long."""
    partitions: list[Partition] = [Slow() for _ in range(COUNT)]
    world = World(partitions)
    world.produce(*[LARGE] * COUNT)
    buffer = weakref.ref(world.connection._received._buffer)
    assert not partitions[-1].stored
    assert world.connections.arriving.total > KEPT_BYTES
    _stored(world, partitions)
    assert world.connection.is_waiting
    assert world.connections.arriving.total == 0
    assert buffer() is None
    for each in partitions:
        each.waits.pop()(ErrorCode.NONE)
    world.turn()
    assert world.said


def test_each_batch_waits_for_its_own_commit_from_the_turn_that_stored_it() -> None:
    """Not for what others append while the rest is stored; and if another node leads before the
    rest is, what was committed by then is answered as such."""
    partitions: list[Partition] = [Slow() for _ in range(COUNT)]
    world = World(partitions)
    world.produce(*[LARGE] * COUNT)
    (done,) = partitions[0].waits
    done(ErrorCode.NONE)
    partitions[0].leader_epoch += 1
    partitions[0].is_leader = False
    _stored(world, partitions)
    assert not partitions[0].waits[1:]
    for each in partitions[1:]:
        each.waits.pop()(ErrorCode.NONE)
    world.turn()
    answer = decode_response(memoryview(world.said)[4:], ProduceResponse, VERSION)
    (topic,) = answer.responses
    assert [each.error_code for each in topic.partition_responses] == [ErrorCode.NONE] * COUNT
    assert [each.base_offset for each in topic.partition_responses] == [0] * COUNT


def test_a_node_that_stops_waits_until_it_is_stored() -> None:
    partitions = [Partition() for _ in range(COUNT)]
    world = World(partitions)
    world.produce(*[LARGE] * COUNT)
    assert len(world.under_way) == 1
    _stored(world, partitions)
    assert not world.under_way
