"""Looks into every broker of a simulated cluster after each of its turns.

Watched are things that no client sees in time, or at all:

- In an epoch of a partition one node leads; in an epoch of the quorum, one node is the controller.
- What a leader calls committed (below its high watermark) is what every leader before it and after
  it calls committed, batch by batch: same offsets, same epoch, same checksum. Whoever begins to
  lead has all of it.
- What a follower calls committed is the same.
- An epoch and an offset name one batch, whoever has it, committed or not.
- What coordinators decide about transactions is what the logs know of them (`decisions`).
- The metadata that nodes have applied up to an offset is the same everywhere.
- Persistent state is what a replay of the log gives (`replay_check`).

A broker that logs an error about itself, or lets an exception go unhandled, has failed too.
"""

import logging
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.log import StorageError
from barnabas.metadata.image import INTERNAL_TOPICS, TRANSACTION_STATE
from barnabas.records.batch import BatchHeader, compute_crc
from barnabas.records.decode import iter_batches
from barnabas.sim.decisions import Decisions
from barnabas.sim.guarantee import Guarantee
from barnabas.sim.history import Place, Violation
from barnabas.sim.machine import Machine
from barnabas.sim.process import Killed, ProcessLoop
from barnabas.sim.replay_check import ReplayCheck
from barnabas.sim.simulator import Simulator

_READ_BYTES = 1 << 20


class Batch(NamedTuple):
    """What a batch is known by, wherever it stands."""

    base_offset: int
    next_offset: int
    epoch: int
    crc: int


class Seen(NamedTuple):
    """How far a replica was checked, and as what."""

    leader_epoch: int
    is_leader: bool
    high_watermark: int


_NOTHING = Seen(-1, False, -1)


class Truth:
    """What is committed in a partition, for ever."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.batches: list[Batch] = []
        self.by_base: dict[int, Batch] = {}
        self._epochs: list[int] = []
        """The epoch of the leader that was the first to call each batch committed."""

    def add(self, batch: Batch, leader_epoch: int) -> None:
        self.batches.append(batch)
        self.by_base[batch.base_offset] = batch
        self._epochs.append(leader_epoch)

    @property
    def end_offset(self) -> int:
        return self.batches[-1].next_offset if self.batches else self.start_offset

    def end_before(self, leader_epoch: int) -> int:
        """What a leader must have from its first moment on: all that was committed before.

        A node may learn late that it was to lead, when others have led and committed since.
        """
        count = bisect_left(self._epochs, leader_epoch)
        return self.batches[count - 1].next_offset if count else self.start_offset


class Watch:
    """The judge. `machines` are told to report here."""

    def __init__(
        self, simulator: Simulator, machines: dict[int, Machine], *, compacts: bool = False
    ) -> None:
        """If it `compacts`, batches of internal topics may be written anew, with less in them."""
        self._simulator = simulator
        self._compacts = compacts
        self._machines = machines
        self._by_host = {machine.host: machine for machine in machines.values()}
        self._leaders: dict[tuple[bytes, int, int], int] = {}
        self._controllers: dict[int, int] = {}
        self.truths: defaultdict[tuple[bytes, int], Truth] = defaultdict(Truth)
        self._seen: dict[Partition, Seen] = {}
        self._written: dict[tuple[str, int, int], tuple[Batch, int]] = {}
        self.guarantee = Guarantee(
            lambda key: key in self.truths and bool(self.truths[key].batches)
        )
        self.decisions = Decisions()
        self.replays = ReplayCheck()
        self.elections = 0

    # -- called by the processes -------------------------------------------------------------------

    def failed(self, process: ProcessLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Killed):
            return
        failure = Violation(f"{process.name}: {context.get('message')}: {error!r}")
        failure.__cause__ = error
        self._simulator.failure = self._simulator.failure or failure

    def turned(self, process: ProcessLoop) -> None:
        machine = self._by_host.get(process.host)
        if machine is None or machine.server is None or machine.process is not process:
            return
        node = getattr(machine.server, "node", None)
        if node is None:
            return
        try:
            self._check_controller(node)
            self.guarantee.learn(node)
            self.guarantee.hear(node)
            self._check_partitions(node)
            self.decisions.check(process.name)
            self._check_replays(node)
        except Violation as violation:  # not to be raised into a broker that is being killed
            self._simulator.failure = self._simulator.failure or violation

    def wrote(self, machine: Machine, path: str, data: bytes) -> None:
        """Bytes went to a file: if they are batches, nobody has others of their epoch there."""
        directory, _, name = path.rpartition("/")
        if not name.endswith(".log"):
            return
        for header, view in iter_batches(data):
            if header.is_control and machine.process is not None:
                self.decisions.wrote(machine.process.name, directory, header, view)
            if self._compacts and _is_internal(directory):
                continue
            batch = _batch(header)
            key = (directory, batch.base_offset, batch.epoch)
            known, node_id = self._written.setdefault(key, (batch, machine.node_id))
            if known != batch:
                self._simulator.failure = self._simulator.failure or Violation(
                    f"{directory}: node {machine.node_id} writes {batch}, but {known} is on node "
                    f"{node_id}"
                )

    def _check_replays(self, node: Node) -> None:
        try:
            self.replays.check(node)
        except StorageError as error:
            self._simulator.remark("node %d can not be replayed: %s", node.node_id, error)

    # -- the quorum --------------------------------------------------------------------------------

    def _check_controller(self, node: Node) -> None:
        """The leader of the quorum, from the moment of its election, is who can be controller."""
        shell = node.quorum.shell
        if shell is not None and shell.raft.is_leader:
            known = self._controllers.setdefault(shell.raft.epoch, node.node_id)
            if known != node.node_id:
                raise Violation(
                    f"nodes {known} and {node.node_id} lead the quorum in epoch {shell.raft.epoch}"
                )

    # -- partitions --------------------------------------------------------------------------------

    def _check_partitions(self, node: Node) -> None:
        """Look into those that have changed: most have not, so that is found out here."""
        seen_before = self._seen
        for partitions in node.partitions.by_name.values():
            for partition in partitions:
                if partition is None:
                    continue
                leader_epoch, is_leader, high_watermark = seen_before.get(partition, _NOTHING)
                if (
                    high_watermark != partition.high_watermark
                    or leader_epoch != partition.leader_epoch
                    or is_leader is (partition.leading is None)
                ) and not partition.deleted:
                    self._check_partition(node, partition)

    def _check_partition(self, node: Node, partition: Partition) -> None:
        seen = self._seen.get(partition, _NOTHING)
        now = Seen(partition.leader_epoch, partition.is_leader, partition.high_watermark)
        self._seen[partition] = now
        try:
            if now.is_leader and (seen.leader_epoch, seen.is_leader) != now[:2]:
                self._begins_to_lead(node, partition)
            if now.high_watermark > seen.high_watermark:
                self._moved_on(node, partition, max(0, seen.high_watermark))
        except StorageError as error:
            self._simulator.remark("%s can not be looked into: %s", partition.topic, error)

    def _begins_to_lead(self, node: Node, partition: Partition) -> None:
        place = Place(partition.topic, partition.index)
        epoch = partition.leader_epoch
        known = self._leaders.setdefault((partition.topic_id, partition.index, epoch), node.node_id)
        if known != node.node_id:
            raise Violation(f"{place}: nodes {known} and {node.node_id} lead in epoch {epoch}")
        self.elections += 1
        self._simulator.say(
            f"{node.node_id} leads {place} in epoch {epoch}, in sync {partition.isr}"
        )
        truth = self.truths[partition.topic_id, partition.index]
        end, committed = partition.log.log_end_offset, truth.end_before(epoch)
        if end < committed:
            raise Violation(
                f"{place}: node {node.node_id} leads in epoch {epoch} up to {end}, but {committed} "
                "are committed"
            )
        self._compare(node, partition, partition.log.log_start_offset, committed)

    def _moved_on(self, node: Node, partition: Partition, start: int) -> None:
        """The high watermark has moved: what it passed is committed, and the same everywhere."""
        place = Place(partition.topic, partition.index)
        log, truth = partition.log, self.truths[partition.topic_id, partition.index]
        end = partition.high_watermark
        if end > log.log_end_offset:
            raise Violation(
                f"{place}: node {node.node_id} calls {end} committed and has {log.log_end_offset}"
            )
        if partition.is_leader and end > truth.end_offset:
            for header, view in _stored(partition, truth.end_offset, end):
                batch = _batch(header)
                if batch.base_offset != truth.end_offset:
                    raise Violation(
                        f"{place}: a gap from {truth.end_offset} to {batch.base_offset} on leader "
                        f"{node.node_id}"
                    )
                truth.add(batch, partition.leader_epoch)
                if partition.topic == TRANSACTION_STATE:
                    self.decisions.learn(view)
        elif end > truth.end_offset:
            raise Violation(
                f"{place}: follower {node.node_id} calls {end} committed, the leader only "
                f"{truth.end_offset}"
            )
        self._compare(node, partition, start, end)

    def _compare(self, node: Node, partition: Partition, start: int, end: int) -> None:
        place = Place(partition.topic, partition.index)
        truth = self.truths[partition.topic_id, partition.index]
        if "compact" in partition.log.config.cleanup_policy:
            return
        if self.guarantee.is_rotten(node.node_id, (partition.topic_id, partition.index)):
            return
        expected: int | None = None
        for batch in _batches(partition, max(start, partition.log.log_start_offset), end):
            known = truth.by_base.get(batch.base_offset)
            if known != batch:
                raise Violation(
                    f"{place}: node {node.node_id} has {batch}, but {known} was committed"
                )
            if expected is not None and batch.base_offset != expected:
                raise Violation(
                    f"{place}: node {node.node_id} has a gap from {expected} to {batch.base_offset}"
                )
            expected = batch.next_offset

    # -- the end -----------------------------------------------------------------------------------

    def check_replica(self, node: Node, partition: Partition) -> None:
        """All that is committed is here."""
        place = Place(partition.topic, partition.index)
        truth = self.truths[partition.topic_id, partition.index]
        if partition.log.log_end_offset < truth.end_offset:
            raise Violation(
                f"{place}: node {node.node_id} ends at {partition.log.log_end_offset}, and "
                f"{truth.end_offset} are committed"
            )
        self._compare(node, partition, 0, truth.end_offset)
        for header, view in _stored(partition, partition.log.log_start_offset, truth.end_offset):
            if compute_crc(view) != header.crc:
                raise Violation(
                    f"{place}: node {node.node_id} has a damaged batch at {header.base_offset}"
                )


def _is_internal(directory: str) -> bool:
    return directory.rpartition("/")[2].rpartition("-")[0] in INTERNAL_TOPICS


def _batch(header: BatchHeader) -> Batch:
    return Batch(header.base_offset, header.next_offset, header.partition_leader_epoch, header.crc)


def _batches(partition: Partition, start: int, end: int) -> list[Batch]:
    return [_batch(header) for header, _ in _stored(partition, start, end)]


def _stored(partition: Partition, start: int, end: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    while start < end:
        data = partition.log.read(start, _READ_BYTES, upto_offset=end)
        if not data:
            return
        for header, view in iter_batches(data):
            yield header, view
            start = header.next_offset


class BrokenBrokers(logging.Handler):
    """Turns what brokers log into words in the trace, and their own failures into violations."""

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(logging.INFO)
        self._simulator = simulator

    def emit(self, record: logging.LogRecord) -> None:
        self._simulator.remark("log %s: %s", record.name, record.getMessage())
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            if isinstance(error, Killed):
                return
            failure = Violation(f"a broker failed: {record.getMessage()}: {error!r}")
            failure.__cause__ = error
            self._simulator.failure = self._simulator.failure or failure
