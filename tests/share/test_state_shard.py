"""The share coordinator's shard: decide, persist, replay; fencing; snapshots."""

import random
from typing import Any

import pytest

from barnabas.coordination.decision import CoordinatorDecision, CoordinatorRecord
from barnabas.share.record_state import RecordState
from barnabas.share.state import SharePartitionKey, ShareStateShard, ShareStatesImage
from barnabas.share.state.share_state import coordinator_key
from barnabas.share.state_write import StateBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import delete_share_group_state as delete_messages
from barnabas.wire.messages import initialize_share_group_state as initialize_messages
from barnabas.wire.messages import read_share_group_state as read_messages
from barnabas.wire.messages import read_share_group_state_summary as summary_messages
from barnabas.wire.messages import write_share_group_state as write_messages
from tests.support.tier import examples

TOPIC = bytes(range(16))
AVAILABLE, DONE, ARCHIVED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


class Shell:
    """Plays the broker: keeps the log, and compares the image with a replay of it."""

    def __init__(self, updates_per_snapshot: int = 3) -> None:
        self.shard = ShareStateShard(updates_per_snapshot)
        self.log: list[CoordinatorRecord] = []
        self.in_flight: list[CoordinatorDecision] = []
        self.answers: dict[object, Any] = {}

    def carry_out(self, decision: CoordinatorDecision) -> None:
        self._publish(decision)
        if decision.records:
            self.in_flight.append(decision)

    def _publish(self, decision: CoordinatorDecision) -> None:
        for token, response in decision.replies:
            assert token not in self.answers
            self.answers[token] = response

    def commit(self, count: int | None = None) -> None:
        for _ in range(len(self.in_flight) if count is None else count):
            decision = self.in_flight.pop(0)
            self.log += decision.records
            self._publish(self.shard.committed(decision))
            self.check()

    def fail(self) -> None:
        """The last decision's records can't be appended."""
        self._publish(self.shard.failed(self.in_flight.pop(), ErrorCode.NOT_COORDINATOR))

    def check(self) -> None:
        replayed = ShareStatesImage()
        for key, value in self.log:
            replayed.replay(key, value)
        assert replayed == self.shard.image

    # -- requests ------------------------------------------------------------------------------

    def initialize(self, epoch: int = 0, start: int = -1, partition: int = 0) -> object:
        token = object()
        data = initialize_messages.PartitionData(partition, epoch, start)
        request = initialize_messages.InitializeShareGroupStateRequest(
            "g", [initialize_messages.InitializeStateData(TOPIC, [data])]
        )
        self.carry_out(self.shard.initialize(request, token=token, time_ms=1))
        return token

    def read(self, leader_epoch: int = 0, partition: int = 0) -> object:
        token = object()
        data = read_messages.PartitionData(partition, leader_epoch)
        request = read_messages.ReadShareGroupStateRequest(
            "g", [read_messages.ReadStateData(TOPIC, [data])]
        )
        self.carry_out(self.shard.read(request, token=token, time_ms=2))
        return token

    def write(
        self,
        *batches: StateBatch | tuple[int, int, int, int],
        start: int = -1,
        leader_epoch: int = 0,
        state_epoch: int = 0,
        partition: int = 0,
    ) -> object:
        token = object()
        data = write_messages.PartitionData(
            partition,
            state_epoch,
            leader_epoch,
            start,
            -1,
            [write_messages.StateBatch(*batch) for batch in batches],
        )
        request = write_messages.WriteShareGroupStateRequest(
            "g", [write_messages.WriteStateData(TOPIC, [data])]
        )
        self.carry_out(self.shard.write(request, token=token, time_ms=3))
        return token

    def delete(self, partition: int = 0) -> object:
        token = object()
        request = delete_messages.DeleteShareGroupStateRequest(
            "g",
            [delete_messages.DeleteStateData(TOPIC, [delete_messages.PartitionData(partition)])],
        )
        self.carry_out(self.shard.delete(request, token=token))
        return token

    def result(self, token: object) -> Any:
        return self.answers[token].results[0].partitions[0]


def test_the_key_is_hashed_as_in_kafka() -> None:
    key = SharePartitionKey("g", TOPIC, 7)
    assert coordinator_key(key) == "g:AAECAwQFBgcICQoLDA0ODw:7"


def test_a_state_is_begun_written_and_read() -> None:
    shell = Shell()
    begun = shell.initialize(start=10)
    assert begun not in shell.answers  # it is not committed yet
    shell.commit()
    assert shell.result(begun).error_code == 0
    shell.write((10, 12, DONE, 1), (14, 14, AVAILABLE, 2))
    shell.write(start=13)
    read = shell.read(leader_epoch=3)
    shell.commit()
    found = shell.result(read)
    assert (found.error_code, found.start_offset, found.state_epoch) == (0, 13, 0)
    assert [(each.first_offset, each.delivery_count) for each in found.state_batches] == [(14, 2)]


def test_a_reader_sees_what_is_not_committed_yet() -> None:
    """Its answer waits for that: an earlier leader's write must not be lost to it."""
    shell = Shell()
    shell.initialize(start=0)
    shell.commit()
    written = shell.write((0, 5, DONE, 1), start=6)
    read = shell.read(leader_epoch=2)
    shell.commit(1)
    assert shell.result(written).error_code == 0
    assert read not in shell.answers
    shell.commit()
    assert shell.result(read).start_offset == 6


def test_former_leaders_are_fenced() -> None:
    shell = Shell()
    shell.initialize(start=0)
    shell.read(leader_epoch=5)
    assert shell.result(shell.write(start=3, leader_epoch=4)).error_code == (
        ErrorCode.FENCED_LEADER_EPOCH
    )
    assert shell.result(shell.read(leader_epoch=4)).error_code == ErrorCode.FENCED_LEADER_EPOCH
    shell.commit()
    assert shell.result(shell.write(start=3, leader_epoch=4)).error_code == (
        ErrorCode.FENCED_LEADER_EPOCH
    )


def test_a_new_state_epoch_fences_and_begins_again() -> None:
    shell = Shell()
    shell.initialize(start=0)
    shell.write((2, 3, DONE, 1))
    shell.initialize(epoch=1, start=100)
    refused = shell.write((4, 4, DONE, 1), state_epoch=0)
    assert shell.result(refused).error_code == ErrorCode.FENCED_STATE_EPOCH
    older = shell.initialize(epoch=0, start=7)
    assert shell.result(older).error_code == ErrorCode.FENCED_STATE_EPOCH
    read = shell.read()
    shell.commit()
    found = shell.result(read)
    assert (found.state_epoch, found.start_offset, found.state_batches) == (1, 100, [])


def test_a_repeated_begin_keeps_what_was_stored() -> None:
    shell = Shell()
    shell.initialize()
    shell.write((0, 9, DONE, 1), start=10)
    again = shell.initialize()
    read = shell.read()
    shell.commit()
    assert shell.result(again).error_code == 0
    assert shell.result(read).start_offset == 10


def test_nothing_is_written_that_was_not_begun() -> None:
    shell = Shell()
    for token in (shell.write(start=1), shell.read()):
        assert shell.result(token).error_code == ErrorCode.INVALID_REQUEST
    assert not shell.in_flight


@pytest.mark.parametrize(
    "batch", [(5, 4, 2, 1), (-1, 4, 2, 1), (0, 1, 1, 1), (0, 1, 9, 1), (0, 1, 2, -1)]
)
def test_senseless_batches_are_refused(batch: tuple[int, int, int, int]) -> None:
    shell = Shell()
    shell.initialize(start=0)
    assert shell.result(shell.write(batch)).error_code == ErrorCode.INVALID_REQUEST


def test_a_deleted_state_is_gone() -> None:
    shell = Shell()
    shell.initialize(start=0)
    shell.delete()
    assert shell.result(shell.read()).error_code == ErrorCode.INVALID_REQUEST
    shell.commit()
    assert len(shell.shard.image) == 0
    request = summary_messages.ReadShareGroupStateSummaryRequest(
        "g",
        [
            summary_messages.ReadStateSummaryData(TOPIC, [summary_messages.PartitionData(0, -1)]),
        ],
    )
    assert shell.shard.summary(request).results[0].partitions[0].start_offset == -1


def test_a_snapshot_replaces_the_records_before_it() -> None:
    shell = Shell(updates_per_snapshot=3)
    shell.initialize(start=0)
    for offset in range(0, 40, 2):
        shell.write((offset, offset, DONE, 1))
    shell.commit()
    snapshots = [at for at, (key, _) in enumerate(shell.log) if key[:2] == bytes(2)]
    assert len(snapshots) > 3
    replayed = ShareStatesImage()
    for key, value in shell.log[snapshots[-1] :]:
        replayed.replay(key, value)
    assert replayed == shell.shard.image


@pytest.mark.parametrize("seed", range(examples(30)))
def test_failures_are_undone(seed: int) -> None:
    """Whatever fails and in which order: the image is that of the log, and so is what is read."""
    chance = random.Random(seed)
    shell = Shell(updates_per_snapshot=chance.choice((0, 2, 50)))
    shell.initialize(start=0)
    shell.commit()
    for _ in range(60):
        first = chance.randrange(30)
        state = chance.choice((AVAILABLE, DONE, ARCHIVED))
        choice = chance.random()
        if choice < 0.6:
            shell.write((first, first + chance.randrange(4), state, chance.randrange(3)))
        elif choice < 0.7:
            shell.write(start=chance.randrange(10))
        elif choice < 0.8 and shell.in_flight:
            shell.fail()
        else:
            shell.commit(chance.randint(0, len(shell.in_flight)))
    read = shell.read()
    shell.commit()
    key = SharePartitionKey("g", TOPIC, 0)
    state = shell.shard.image.get(key)
    assert state is not None
    found = shell.result(read)
    batches = [
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in found.state_batches
    ]
    assert batches == [tuple(each) for each in state.batches]
    assert not shell.shard._pending
