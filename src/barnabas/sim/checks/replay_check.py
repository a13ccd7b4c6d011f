"""Whether the persistent state of every node is what a replay of its log gives.

Each log is read a second time, by a reader that knows nothing but the bytes of the log. Checked are

- the groups and transactions of every coordinator, after everything that it appends or replays,
  with a replay of its partition up to the offset that it has replayed;
- the metadata of every node, after everything that it applies, with a replay of its metadata log;
- the pending image of the controller, after everything that it proposes, with the same and the
  records that are proposed and not committed yet.

A reader begins at the start of the log with each coordinator and each process, and goes on from
there as the log grows. At the end of a run everything is read from the start once more.
"""

from dataclasses import dataclass, field
from typing import Any

from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.coordinator.group_coordinator_shard import (
    GroupCoordinatorShard,
    replay_group_batch,
)
from barnabas.broker.coordinator.transaction_coordinator_shard import replay_transaction_batch
from barnabas.broker.node import Node
from barnabas.broker.quorum.checkpoint import records_in_checkpoint
from barnabas.controller.controller import Controller
from barnabas.groups.image import GroupsImage
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import decode_metadata_record
from barnabas.raft import Batch, Raft
from barnabas.raft.entry import Entry
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.sim.checks.history import Violation
from barnabas.sim.checks.reached_states import ReachedStates
from barnabas.transactions.transactions_image import TransactionsImage
from barnabas.wire.errors import ErrorCode

_READ_BYTES = 1 << 20


@dataclass(slots=True)
class _ShardReader:
    """Reads the partition of one coordinator."""

    shard: CoordinatorShard[Any]
    image: GroupsImage | TransactionsImage
    offset: int
    checked: tuple[int, int] = (-1, -1)
    """Replayed up to, and appended up to, when the two were last compared."""

    @classmethod
    def of(cls, shard: CoordinatorShard[Any]) -> "_ShardReader":
        image = GroupsImage() if isinstance(shard, GroupCoordinatorShard) else TransactionsImage()
        return cls(shard, image, shard.partition.log.log_start_offset)

    def read(self, end_offset: int) -> None:
        """Raises `StorageError`."""
        while self.offset < end_offset:
            data = self.shard.partition.log.read(self.offset, _READ_BYTES, upto_offset=end_offset)
            if not data:
                raise Violation(f"nothing is stored at {self.offset}, which was replayed")
            for header, view in iter_batches(data):
                records = decode_batch(view)
                if isinstance(self.image, GroupsImage):
                    replay_group_batch(self.image, header, records)
                else:
                    replay_transaction_batch(self.image, header, records)
                self.offset = header.next_offset


@dataclass(slots=True)
class _MetadataReader:
    """Reads the metadata log of one process."""

    node: Node
    image: MetadataImage = field(default_factory=MetadataImage)
    offset: int = -1
    controller: Controller | None = None
    proposed_offset: int = -1
    """How far the pending image of that controller was compared."""

    def read(self, raft: Raft, end_offset: int, reached: ReachedStates) -> None:
        log = raft._state.log
        if log.snapshot is not None and self.offset < log.start_offset:
            reached.metadata_snapshot_read()
            self.image.restore(records_in_checkpoint(log.snapshot.content))
            self.offset = log.start_offset
        _replay(self.image, log.between(self.offset, end_offset))
        self.offset = end_offset


def _replay(image: MetadataImage, entries: list[Entry]) -> None:
    for entry in entries:
        if isinstance(entry.body, Batch):
            for record in decode_batch(entry.body.payload):
                image.replay(decode_metadata_record(record.value or b""))


class ReplayCheck:
    """Raises `Violation` where live state and replayed state differ."""

    def __init__(self, reached: ReachedStates) -> None:
        self._reached = reached
        self._shards: dict[tuple[int, str, int], _ShardReader] = {}
        self._metadata: dict[int, _MetadataReader] = {}

    def check(self, node: Node) -> None:
        """A node has ended its turn. Raises `StorageError` if its disk can't be read."""
        self._check_metadata(node)
        for group_shard in node.groups.shards:
            self._check_shard(node, group_shard)
        for transaction_shard in node.transactions.shards:
            self._check_shard(node, transaction_shard)

    def check_from_start(self, node: Node) -> None:
        """The same, with readers that begin at the start of each log."""
        self._metadata.pop(node.node_id, None)
        for key in [key for key in self._shards if key[0] == node.node_id]:
            del self._shards[key]
        self.check(node)

    def _check_shard(self, node: Node, shard: CoordinatorShard[Any]) -> None:
        partition = shard.partition
        key = (node.node_id, partition.topic, partition.index)
        reader = self._shards.get(key)
        reached = (shard.replayed_offset, partition.log.log_end_offset)
        if reader is not None and reader.shard is shard and reached == reader.checked:
            return
        if shard.error is not ErrorCode.NONE:
            return
        if reader is None or reader.shard is not shard:
            reader = self._shards[key] = _ShardReader.of(shard)
        reader.read(shard.replayed_offset)
        reader.checked = reached
        live = shard.image
        if isinstance(live, GroupsImage):
            self._reached.groups_changed(live)
        if live != reader.image:
            raise Violation(
                f"{shard.partition.topic}-{shard.partition.index}: node {node.node_id} has {live}, "
                f"but its log up to {reader.offset} says {reader.image}"
            )

    def _check_metadata(self, node: Node) -> None:
        shell = node.quorum.shell
        if shell is None:
            return
        reader = self._metadata.get(node.node_id)
        if reader is None or reader.node is not node:
            reader = self._metadata[node.node_id] = _MetadataReader(node)
        end_offset = node.quorum.end_offset
        if end_offset != reader.offset:
            reader.read(shell.raft, end_offset, self._reached)
            if node.image != reader.image:
                raise Violation(
                    f"metadata: node {node.node_id} has {_difference(node.image, reader.image)}, "
                    f"but its log up to {end_offset} does not say so"
                )
        controller = node.controller._controller
        if controller is not None:
            self._check_pending(node, reader, shell.raft, controller)

    def _check_pending(
        self, node: Node, reader: _MetadataReader, raft: Raft, controller: Controller
    ) -> None:
        proposed_offset = raft.log_end_offset
        if controller is reader.controller and proposed_offset == reader.proposed_offset:
            return
        reader.controller, reader.proposed_offset = controller, proposed_offset
        expected = reader.image
        if reader.offset < proposed_offset:
            expected = expected.copy()
            _replay(expected, raft._state.log.between(reader.offset, proposed_offset))
        if controller.pending_image != expected:
            found = _difference(controller.pending_image, expected)
            raise Violation(
                f"metadata: the controller on node {node.node_id} believes {found}, which is not "
                f"in its log up to {proposed_offset}"
            )


def _difference(live: MetadataImage, replayed: MetadataImage) -> list[str]:
    """The records that build one of the two and not the other."""
    return sorted({*map(repr, live.snapshot())} ^ {*map(repr, replayed.snapshot())})
