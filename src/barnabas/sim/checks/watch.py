"""Looks into every broker of a simulated cluster after each of its turns.

Watched are things that no client sees in time, or at all:

- In an epoch of a partition one node leads; in an epoch of the quorum, one node is the controller.
- What a leader calls committed (below its high watermark) is what every leader before it and after
  it calls committed, batch by batch: same offsets, same epoch, same checksum. A new
  leader has all of it.
- What a follower calls committed is the same. Who is in sync has all of it. Logs that are
  compacted are compared record by record (`compacted_log`).
- Epochs of what is committed never fall, and none is later than that of the leader.
- An epoch and an offset name one batch on all nodes, committed or not.
- Logs start later than at 0 only where records were to be deleted (`deleted_records`).
- A replica that has lost nothing keeps every committed record as it is (`kept_records`). Logs that
  are changed below their end are compared at once (`log_changes`).
- What is acknowledged is on as many disks as `min.insync.replicas` says (`acknowledged_copies`).
- What coordinators decide about transactions is what the logs know of them (`decisions`).
- The metadata that nodes have applied up to an offset is the same everywhere, and so are the voters
  (`voter_sets`).
- Persistent state is what a replay of the log gives (`replay_check`).

A broker that logs an error about itself, or lets an exception go unhandled, has failed too.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.log import METADATA_FILE, StorageError
from barnabas.log.directory.partition_metadata import parse_topic_id
from barnabas.metadata.image import INTERNAL_TOPICS, TRANSACTION_STATE, MetadataImage
from barnabas.raft import Raft
from barnabas.records.batch import compute_crc
from barnabas.records.decode import iter_batches
from barnabas.sim.checks.acknowledged_copies import book_name
from barnabas.sim.checks.committed_log import (
    Batch,
    CommittedLog,
    batch_of,
    batches_of,
    stored_batches,
)
from barnabas.sim.checks.compacted_log import CompactedLog
from barnabas.sim.checks.copies import Copies
from barnabas.sim.checks.decisions import Decisions
from barnabas.sim.checks.guarantee import Guarantee
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.log_changes import LogChanges
from barnabas.sim.checks.reached_states import ReachedStates
from barnabas.sim.checks.replay_check import ReplayCheck
from barnabas.sim.checks.voter_sets import VoterSets
from barnabas.sim.machine.inode import Directory, Inode
from barnabas.sim.machine.machine import Machine
from barnabas.sim.process.loop import Killed, ProcessLoop
from barnabas.sim.process.simulator import Simulator


class Seen(NamedTuple):
    """How far a replica was checked, and as what."""

    leader_epoch: int
    is_leader: bool
    high_watermark: int


_NOTHING = Seen(-1, False, -1)


class Watch:
    """Checks the brokers on `machines`, which report here."""

    def __init__(
        self, simulator: Simulator, machines: dict[int, Machine], *, compacts: bool = False
    ) -> None:
        """If it `compacts`, batches of internal topics may be rewritten, with less in them."""
        self._simulator = simulator
        self._rewritten: list[str] = sorted(INTERNAL_TOPICS) if compacts else []
        """Topics in which batches may be replaced by others, with less in them."""
        self._machines = machines
        self._by_host = {machine.host: machine for machine in machines.values()}
        self._leaders: dict[tuple[bytes, int, int], int] = {}
        self._newest: dict[tuple[bytes, int], int] = {}
        self._controllers: dict[int, int] = {}
        self.committed_logs: defaultdict[tuple[bytes, int], CommittedLog] = defaultdict(
            CommittedLog
        )
        self._compacted_logs: defaultdict[tuple[bytes, int], CompactedLog] = defaultdict(
            CompactedLog
        )
        self._compacted_topics: set[str] = set()
        """Those of them that clients write to."""
        self._keeping_tombstones: set[str] = set()
        self._finished: dict[Partition, int] = {}
        """Below which offset a replica may compact, as it was learned last."""
        self._seen: dict[Partition, Seen] = {}
        self._written: dict[tuple[str, int, int], tuple[Batch, int]] = {}
        """Batches by the partition's name in the books, offset and epoch, with the first node."""
        self.guarantee = Guarantee(
            lambda key: key in self.committed_logs and bool(self.committed_logs[key].batches)
        )
        self.deleted = self.guarantee.deleted
        self.topic_ids: dict[str, bytes] = {}
        """Of topics whose name is used again, by what they are called in the books of clients."""
        self._names: dict[tuple[str, bytes], str] = {}
        """What directories are called in the books, by the content of the file that says so."""
        self.copies = Copies()
        self.voters = VoterSets()
        self.changes = LogChanges()
        self.reached = ReachedStates(simulator)
        self.decisions = Decisions(self.reached.transaction_changed)
        self.replays = ReplayCheck(self.reached)
        self.unknown_epochs: set[tuple[bytes, int]] = set()
        """Compacted partitions of which a replica has lost its `log.state`, so that it knows only
        the epochs of what is left. It leads and teaches others no more than that."""
        self.elections = 0

    def expect_compaction(self, topic: str, *, keeps_tombstones: bool) -> None:
        """Of a topic that clients write to."""
        self._rewritten.append(topic)
        self._compacted_topics.add(topic)
        if keeps_tombstones:
            self._keeping_tombstones.add(topic)

    def newest_epoch(self, topic_id: bytes, index: int) -> int:
        """The newest leader epoch of a partition in which some node has led it."""
        return self._newest.get((topic_id, index), -1)

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
        disk = machine.disk
        before, disk.is_inspected = disk.is_inspected, True
        try:
            self._look_into(process, node)
        finally:
            disk.is_inspected = before

    def _look_into(self, process: ProcessLoop, node: Node) -> None:
        """Most turns change nothing of what is checked, so each check is skipped where that is
        plain to see: this runs more often than anything else in a simulation."""
        shell = node.quorum.shell
        try:
            if shell is not None and shell.raft.is_leader:
                self._check_controller(node, shell.raft)
            if shell is not None:
                self.voters.check(node.node_id, shell.raft)
            if self.guarantee.learn(node):
                self.copies.learn(node.image)
                self.reached.learn(node.image)
                self.guarantee.kept.learn(node.image)
                self._check_in_sync()
            self.guarantee.kept.follow(node.node_id, node.quorum.end_offset, node.image)
            self.guarantee.hear(node, shell)
            self._check_partitions(node)
            for topic in self.deleted.topics:
                self._check_starts(node, topic)
            if self._rewritten:
                self._learn_finished(node)
            if self.changes.has_any(node.node_id):
                self._check_changes(node)
            if self.decisions.has_written:
                self.decisions.check(process.name)
            self._check_replays(node)
        except Violation as violation:  # not to be raised into a broker that is being killed
            self._simulator.failure = self._simulator.failure or violation

    def wrote(self, machine: Machine, path: str, data: bytes) -> None:
        """Bytes went to a file: if they are batches, no node has others of their epoch there."""
        directory, _, name = path.rpartition("/")
        if not name.endswith(".log"):
            return
        for header, view in iter_batches(data):
            if header.is_control and machine.process is not None:
                self.decisions.wrote(machine.process.name, directory, header, view)
            if self._may_be_rewritten(directory):
                continue
            batch = batch_of(header)
            name = self._book_name(machine, directory)
            self.guarantee.acknowledged.wrote(machine.node_id, name, batch)
            key = (name, batch.base_offset, batch.epoch)
            known, node_id = self._written.setdefault(key, (batch, machine.node_id))
            if known != batch:
                self._simulator.failure = self._simulator.failure or Violation(
                    f"{directory}: node {machine.node_id} writes {batch}, but {known} is on node "
                    f"{node_id}"
                )

    def _may_be_rewritten(self, directory: str) -> bool:
        return directory.rpartition("/")[2].rpartition("-")[0] in self._rewritten

    def _book_name(self, machine: Machine, directory: str) -> str:
        """By the topic id in the directory; the log of the quorum has none."""
        found: Inode | Directory | None = machine.disk.root
        for part in (*directory.strip("/").split("/"), METADATA_FILE):
            found = found.entries.get(part) if isinstance(found, Directory) else None
        if not isinstance(found, Inode):
            return directory
        key = (directory, bytes(found.data))
        if key not in self._names:
            topic_id, index = parse_topic_id(key[1]), directory.rpartition("-")[2]
            self._names[key] = directory if topic_id is None else book_name(topic_id, int(index))
        return self._names[key]

    def acknowledged(self, place: Place, offset: int) -> None:
        """A client was told that a record is stored."""
        topic_id = self.topic_ids.get(place.topic) or self.guarantee.topic_id(place.topic)
        committed_log = self.committed_logs.get((topic_id, place.partition))
        if committed_log is not None:
            topic = place.topic.partition("#")[0]
            name = book_name(topic_id, place.partition)
            now_us = self._simulator.now_us
            self.guarantee.min_insync.acknowledged(topic, now_us, self._images())
            self.guarantee.acknowledged.acknowledged(name, topic, committed_log.batch_at(offset))

    def deleted_before(self, place: Place, low_watermark: int) -> None:
        """A client was told that older records are deleted."""
        self.deleted.answered(place, low_watermark)
        key = (self.guarantee.topic_id(place.topic), place.partition)
        for node_id, partition in self._in_sync():
            if (partition.topic_id, partition.index) == key:
                self.deleted.check_in_sync(node_id, partition)

    def _images(self) -> list[MetadataImage]:
        """What the nodes know that run."""
        nodes = (getattr(machine.server, "node", None) for machine in self._machines.values())
        return [node.image for node in nodes if node is not None]

    def _check_replays(self, node: Node) -> None:
        try:
            self.replays.check(node)
        except StorageError as error:
            self._simulator.remark("node %d can not be replayed: %s", node.node_id, error)

    # -- the quorum --------------------------------------------------------------------------------

    def _check_controller(self, node: Node, raft: Raft) -> None:
        """The leader of the quorum, from the moment of its election, is who can be controller."""
        if raft.epoch not in self._controllers:
            self.reached.controller_elected()
        known = self._controllers.setdefault(raft.epoch, node.node_id)
        if known != node.node_id:
            raise Violation(
                f"nodes {known} and {node.node_id} lead the quorum in epoch {raft.epoch}"
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
        self.reached.replica_seen(partition)
        try:
            if seen is _NOTHING:
                self._check_kept(node, partition)
                if partition.log.is_compaction_unknown:
                    self.unknown_epochs.add((partition.topic_id, partition.index))
            if now.is_leader and (seen.leader_epoch, seen.is_leader) != now[:2]:
                self._begins_to_lead(node, partition)
            if now.high_watermark > seen.high_watermark:
                self._moved_on(node, partition, seen)
        except StorageError as error:
            self._simulator.remark("%s can not be looked into: %s", partition.topic, error)

    def _check_starts(self, node: Node, topic: str) -> None:
        for partition in node.partitions.by_name.get(topic, ()):
            if partition is not None and not partition.deleted:
                committed_log = self.committed_logs[partition.topic_id, partition.index]
                self.deleted.check_start(node.node_id, partition, committed_log.end_offset)

    def _learn_finished(self, node: Node) -> None:
        by_name, finished = node.partitions.by_name, self._finished
        for topic in self._rewritten:
            for partition in by_name.get(topic, ()):
                if partition is not None and not partition.deleted:
                    segments = partition.log.segments
                    if segments:
                        end = min(segments[-1].base_offset, partition.high_watermark)
                        if finished.get(partition) != end:
                            finished[partition] = end
                            self._compacted(partition).finished(end)

    def _compacted(self, partition: Partition) -> CompactedLog:
        log = self._compacted_logs[partition.topic_id, partition.index]
        log.keeps_tombstones = partition.topic in self._keeping_tombstones
        return log

    def committed_end(self, place: Place) -> int:
        return self.committed_logs[self.guarantee.topic_id(place.topic), place.partition].end_offset

    def compacted_log(self, place: Place) -> CompactedLog:
        """What is committed there."""
        return self._compacted_logs[self.guarantee.topic_id(place.topic), place.partition]

    def _check_changes(self, node: Node) -> None:
        """Logs that were changed below their end have what is committed as before."""
        for topic, index in self.changes.take(node.node_id):
            replicas = node.partitions.by_name.get(topic, ())
            partition = replicas[index] if index < len(replicas) else None
            if partition is None or partition.deleted:
                continue
            self.reached.log_changed()
            try:
                self._check_kept(node, partition)
                self._compare(node, partition, 0, partition.high_watermark)
            except StorageError as error:
                self._simulator.remark("%s can not be looked into: %s", topic, error)

    def _check_kept(self, node: Node, partition: Partition) -> None:
        key = (partition.topic_id, partition.index)
        self.guarantee.kept.check(
            f"{partition.name}: node {node.node_id}",
            node.node_id,
            key,
            partition.log.log_end_offset,
            may_start_over=self._is_compacted(partition)
            and key not in self.guarantee.in_sync(node),
        )

    def _begins_to_lead(self, node: Node, partition: Partition) -> None:
        place = Place(partition.topic, partition.index)
        epoch = partition.leader_epoch
        known = self._leaders.setdefault((partition.topic_id, partition.index, epoch), node.node_id)
        if known != node.node_id:
            raise Violation(f"{place}: nodes {known} and {node.node_id} lead in epoch {epoch}")
        self.elections += 1
        self._newest[partition.topic_id, partition.index] = max(
            epoch, self.newest_epoch(partition.topic_id, partition.index)
        )
        self._simulator.say(
            f"{node.node_id} leads {place} in epoch {epoch}, in sync {partition.isr}"
        )
        committed_log = self.committed_logs[partition.topic_id, partition.index]
        end, committed = partition.log.log_end_offset, committed_log.end_before(epoch)
        if end < committed:
            raise Violation(
                f"{place}: node {node.node_id} leads in epoch {epoch} up to {end}, but {committed} "
                "are committed"
            )
        if place.topic in self.deleted.topics:
            self.deleted.check_leader(node.node_id, partition)
        self._compare(node, partition, partition.log.log_start_offset, committed)

    def _in_sync(self) -> Iterator[tuple[int, Partition]]:
        """The replicas that may be elected, on nodes that run, with their nodes."""
        for machine in self._machines.values():
            node = getattr(machine.server, "node", None)
            if node is None:
                continue
            for topic_id, index in self.guarantee.in_sync(node):
                replicas = node.partitions.by_id.get(topic_id, ())
                partition = replicas[index] if index < len(replicas) else None
                if partition is not None:
                    yield node.node_id, partition

    def _check_in_sync(self) -> None:
        """Who is in sync has all that is committed, whether it is elected or not."""
        for node_id, partition in self._in_sync():
            committed_log = self.committed_logs.get((partition.topic_id, partition.index))
            if committed_log is None:
                continue
            end = partition.log.log_end_offset
            if end < committed_log.end_offset:
                raise Violation(
                    f"{partition.name}: node {node_id} is in sync and ends at {end}, but "
                    f"{committed_log.end_offset} are committed"
                )
            if partition.topic in self.deleted.topics:
                self.deleted.check_in_sync(node_id, partition)

    def _moved_on(self, node: Node, partition: Partition, seen: Seen) -> None:
        """The high watermark has moved: what it passed is committed, and the same everywhere.

        A leader may commit something and learn in the same turn that it leads no more.
        """
        place = Place(partition.topic, partition.index)
        start = max(0, seen.high_watermark)
        leads = partition.is_leader or seen.is_leader
        epoch = partition.leader_epoch if partition.is_leader else seen.leader_epoch
        log, committed_log = partition.log, self.committed_logs[partition.topic_id, partition.index]
        end = partition.high_watermark
        if end > log.log_end_offset:
            raise Violation(
                f"{place}: node {node.node_id} calls {end} committed and has {log.log_end_offset}"
            )
        if leads and end > committed_log.end_offset:
            unseen = max(committed_log.end_offset, log.log_start_offset)
            for header, view in stored_batches(partition, unseen, end):
                batch = batch_of(header)
                committed_log.skip_deleted(min(batch.base_offset, log.log_start_offset))
                if batch.base_offset != committed_log.end_offset:
                    raise Violation(
                        f"{place}: a gap from {committed_log.end_offset} to {batch.base_offset} "
                        f"on leader {node.node_id}"
                    )
                if not committed_log.last_epoch <= batch.epoch <= epoch:
                    raise Violation(
                        f"{place}: leader {node.node_id} in epoch {epoch} commits "
                        f"{batch} behind epoch {committed_log.last_epoch}"
                    )
                committed_log.add(batch, epoch)
                if self._is_compacted(partition):
                    self._compacted(partition).add(header, view)
                if partition.topic == TRANSACTION_STATE:
                    self.decisions.learn(view)
            committed_log.skip_deleted(min(end, log.log_start_offset))
        elif end > committed_log.end_offset:
            raise Violation(
                f"{place}: follower {node.node_id} calls {end} committed, the leader only "
                f"{committed_log.end_offset}"
            )
        self._compare(node, partition, start, end)

    def _compare(self, node: Node, partition: Partition, start: int, end: int) -> None:
        place = Place(partition.topic, partition.index)
        committed_log = self.committed_logs[partition.topic_id, partition.index]
        if self.guarantee.is_rotten(node.node_id, (partition.topic_id, partition.index)):
            return
        suspect_from = partition.doubt.suspect_from
        if suspect_from is not None and not partition.is_leader:
            end = min(end, suspect_from)  # it is about to be replaced
        start = max(start, partition.log.log_start_offset)
        if self._is_compacted(partition):
            self._compacted(partition).check(
                f"{place}: node {node.node_id}",
                stored_batches(partition, start, end),
                start,
                end,
                whole=start == partition.log.log_start_offset,
            )
            return
        expected: int | None = None
        for batch in batches_of(partition, start, end):
            known = committed_log.by_base.get(batch.base_offset)
            if known != batch and not committed_log.is_unseen(batch.base_offset):
                raise Violation(
                    f"{place}: node {node.node_id} has {batch}, but {known} was committed"
                )
            if expected is None and batch.base_offset > start:
                raise Violation(f"{place}: node {node.node_id} starts at {start}, but with {batch}")
            if expected is not None and batch.base_offset != expected:
                raise Violation(
                    f"{place}: node {node.node_id} has a gap from {expected} to {batch.base_offset}"
                )
            expected = batch.next_offset
        if expected is not None:
            self.guarantee.kept.has(
                node.node_id, (partition.topic_id, partition.index), min(expected, end)
            )

    def _is_compacted(self, partition: Partition) -> bool:
        """Whether batches are rewritten, so that single records are compared."""
        if partition.topic in self._compacted_topics:
            return True  # whatever its policy is now: it may have changed
        return (
            partition.topic in self._rewritten and "compact" in partition.log.config.cleanup_policy
        )

    # -- the end -----------------------------------------------------------------------------------

    def check_replica(self, node: Node, partition: Partition) -> None:
        """All that is committed is here."""
        place = Place(partition.topic, partition.index)
        committed_log = self.committed_logs[partition.topic_id, partition.index]
        if partition.log.log_end_offset < committed_log.end_offset:
            raise Violation(
                f"{place}: node {node.node_id} ends at {partition.log.log_end_offset}, and "
                f"{committed_log.end_offset} are committed"
            )
        self._compare(node, partition, 0, committed_log.end_offset)
        for header, view in stored_batches(
            partition, partition.log.log_start_offset, committed_log.end_offset
        ):
            if compute_crc(view) != header.crc:
                raise Violation(
                    f"{place}: node {node.node_id} has a damaged batch at {header.base_offset}"
                )
