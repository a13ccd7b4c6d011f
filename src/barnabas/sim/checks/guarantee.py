"""What may be lost: the cluster promises nothing when every copy of a record is gone.

A record is committed when all in-sync replicas have it, be it in memory only, and eligible leaders
have all that is committed. So a machine may lose power, or its disk, as long as every partition
keeps another replica that is in sync or eligible, and intact. Killing processes loses nothing and
is always allowed.

That believes the cluster, which may believe that only one replica is in sync. So, whatever it
believes, one copy less may be lost than an acknowledgement has promised (`acknowledged_copies`).

A machine that lost something counts as not intact until a process that was started afterwards has
been let in: by then the controller knows of the loss. Until then it may even join in-sync sets, by
requests that were under way.

A partition in which nothing was committed yet has nothing to lose: it may be created on machines
that have all lost their data, while the controller believes that they are still there, or all
machines may lose power before they have noted that it is flushed. It waits for an operator then.

A machine whose disk returns I/O errors has lost nothing, but the cluster gives its replicas up,
maybe before it notices that the others are gone. So the others may lose nothing that only they and
such a machine have, until it has started again without errors.

An in-sync set that is proposed, or decided and not yet committed, may become the real one at any
time, even when the node that proposed it is gone. So it counts as well.
"""

from collections import defaultdict
from collections.abc import Callable

from barnabas.broker.node import Node
from barnabas.broker.quorum.shell import RaftShell
from barnabas.controller.controller import Controller
from barnabas.metadata.image import MetadataImage
from barnabas.sim.checks.acknowledged_copies import AcknowledgedCopies, book_name
from barnabas.sim.checks.deleted_records import DeletedRecords
from barnabas.sim.checks.history import Violation
from barnabas.sim.checks.kept_records import KeptRecords
from barnabas.sim.checks.min_insync import MinInsync
from barnabas.sim.machine.rot import Rot

Key = tuple[bytes, int]


class Guarantee:
    """Knows the newest in-sync sets that any node has ever acted on, and who has lost data.

    To these sets belong the eligible leaders.
    """

    def __init__(self, has_committed: Callable[[Key], bool]) -> None:
        self._has_committed = has_committed
        self._offset = -1
        self._isr: dict[Key, tuple[int, ...]] = {}
        self._epochs: dict[Key, int] = {}
        """Of the partition, with that in-sync set."""
        self._proposed: defaultdict[Key, dict[tuple[int, ...], int]] = defaultdict(dict)
        """In-sync sets that may come, with the partition epochs that they would have."""
        self._heard: tuple[Controller, int] | None = None
        """The controller that was listened to last, and the end of its log then."""
        self._newest: dict[int, bytes] = {}
        """The incarnation of the process that ran last on each node,"""
        self._let_in: dict[int, bytes] = {}
        """of the one that was let in last,"""
        self._before_a_loss: defaultdict[int, set[bytes]] = defaultdict(set)
        """and of those whose data was lost since."""
        self.failing: set[int] = set()
        """Nodes whose disk has failed since they started."""
        self.waiting: set[Key] = set()
        """Partitions that may wait for an operator."""
        self.kept = KeptRecords()
        self.deleted = DeletedRecords()
        self.acknowledged = AcknowledgedCopies()
        self.min_insync = MinInsync(self.acknowledged.min_insync)
        self._image = MetadataImage()
        self._rot: tuple[int, Key, Rot] | None = None
        """The replica in which a bit has flipped, by node and partition."""

    def learn(self, node: Node) -> bool:
        """Take over a node's metadata if it is the newest so far. False if it is not."""
        self._newest[node.node_id] = node._incarnation_id
        offset = node.quorum.end_offset
        if offset <= self._offset:
            return False
        self._offset = offset
        self._image = node.image
        self.min_insync.learn(node.image)
        self._let_in |= {
            broker.id: broker.incarnation_id
            for broker in node.image.brokers.values()
            if not broker.fenced
        }
        self._isr = {
            (topic.topic_id, partition.index): (*partition.isr, *partition.elr)
            for topic in node.image.topics.values()
            for partition in topic.partitions
        }
        self._epochs = {
            (topic.topic_id, partition.index): partition.partition_epoch
            for topic in node.image.topics.values()
            for partition in topic.partitions
        }
        for key, isr in self._isr.items():
            if any(map(self._is_intact, isr)):
                continue
            self.waiting.add(key)
            if self._has_committed(key):
                topic = node.image.topics_by_id[key[0]].name
                raise Violation(
                    f"{topic}-{key[1]}: of the replicas {isr}, in sync or eligible, none has "
                    "everything, though one had when the others lost it"
                )
        return True

    def topic_id(self, name: str) -> bytes:
        """Of the topic that has the name now; empty if there is none."""
        topic = self._image.topics.get(name)
        return b"" if topic is None else topic.topic_id

    def in_sync(self, node: Node) -> list[Key]:
        """The partitions that a node is in sync with, or eligible for, in this life of it."""
        node_id = node.node_id
        if self._let_in.get(node_id) != node._incarnation_id or not self._is_intact(node_id):
            return []
        return [key for key, isr in self._isr.items() if node_id in isr]

    def hear(self, node: Node, shell: RaftShell | None) -> None:
        """Take notice of what a node proposes, as a leader of partitions or as the controller."""
        for partition in node.partitions.led:
            leading = partition.leading
            if leading is not None and leading.pending is not None:
                isr = tuple(member.node_id for member in leading.pending.isr)
                key = (partition.topic_id, partition.index)
                self._proposed[key][isr] = leading.pending.partition_epoch + 1
        controller = node.controller._controller
        if controller is None or shell is None:
            return
        decided = (controller, shell.raft.log_end_offset)
        if decided != self._heard:  # its image changes only with what it proposes
            self._heard = decided
            self._hear_controller(controller)

    def _hear_controller(self, controller: Controller) -> None:
        self.min_insync.learn(controller.pending_image)
        for topic in controller.pending_image.topics.values():
            for image in topic.partitions:
                key = (topic.topic_id, image.index)
                if image.partition_epoch > self._epochs.get(key, -1):
                    able = (*image.isr, *image.elr)
                    self._proposed[key][able] = image.partition_epoch

    def _sets(self, key: Key) -> list[tuple[int, ...]]:
        """The in-sync set of a partition, and those that may become it."""
        epoch = self._epochs[key]
        return [self._isr[key], *(isr for isr, at in self._proposed[key].items() if at > epoch)]

    def _is_intact(self, node_id: int) -> bool:
        return self._let_in.get(node_id) not in self._before_a_loss[node_id]

    def may_lose(self, node_id: int) -> bool:
        """Whether everything committed is safe even if this node's data is gone."""
        return self._may_lose_besides_rot(node_id) and all(
            self._has_intact_besides(node_id, isr)
            or (not self.has_rot and self._is_promised(node_id, key))
            for key in self._isr
            for isr in self._sets(key)
            if node_id in isr
        )

    def _may_lose_besides_rot(self, node_id: int) -> bool:
        """Whether what has rotted is on a third node, which is in sync whatever set comes next.

        The rotten replica itself keeps its disk: the others may be behind by then.
        """
        if self._rot is None or not self.has_rot:
            return True
        rotten, key, _ = self._rot
        return (
            node_id != rotten
            and key in self._isr
            and all(
                any(each not in (node_id, rotten) and self._is_reliable(each) for each in isr)
                for isr in self._sets(key)
            )
        )

    def _is_promised(self, node_id: int, key: Key) -> bool:
        topic = self._image.topics_by_id.get(key[0])
        return topic is not None and self.acknowledged.may_lose(
            {node_id, *self.failing}, book_name(*key), topic.name
        )

    def _has_intact_besides(self, node_id: int, isr: tuple[int, ...]) -> bool:
        return any(other != node_id and self._is_reliable(other) for other in isr)

    def _is_reliable(self, node_id: int) -> bool:
        return node_id not in self.failing and self._is_intact(node_id)

    def loses(self, node_id: int) -> None:
        self.kept.loses(node_id)
        self.deleted.loses(node_id)
        self.acknowledged.loses(node_id)
        for incarnations in (self._newest, self._let_in):
            if node_id in incarnations:
                self._before_a_loss[node_id].add(incarnations[node_id])

    def all_lose_power(self) -> None:
        """What is committed has been flushed by then, which is on record in the log's directory.

        A partition in which nothing is committed may lack that record on all of its replicas.
        """
        self.kept.all_lose()
        for node_id in self._newest:
            self.deleted.loses(node_id)
        for key in (*self._isr, *self._proposed):
            if not self._has_committed(key):
                self.waiting.add(key)

    # -- rot ---------------------------------------------------------------------------------------

    def may_rot(self, node_id: int, key: Key) -> bool:
        """Whether what is committed in a partition is safe if some of it rots on this node."""
        return not self.has_rot and all(
            self._has_intact_besides(node_id, isr) for isr in self._sets(key)
        )

    def rots(self, node_id: int, key: Key, rot: Rot) -> None:
        self._rot = (node_id, key, rot)
        self.kept.rots(node_id, key)

    @property
    def has_rot(self) -> bool:
        return self._rot is not None and self._rot[2].is_there

    def is_rotten(self, node_id: int, key: Key) -> bool:
        return self._rot is not None and self._rot[:2] == (node_id, key) and self.has_rot
