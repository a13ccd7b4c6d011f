"""Random histories of a cluster, compared with a model of what its brokers have on disk.

The model knows what every replica holds and what is committed: all that every member of the
in-sync set has. Brokers are killed, lose power or their whole disk, come back and tell the truth
about it; replicas are moved, topics come and go, controllers change. Whatever the controller
decides, every leader must have all that was committed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pytest

from barnabas.controller.registrations import unvouched
from barnabas.controller.replica_ends import ReplicaEnd
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from tests.controller.small_cluster import SmallCluster, directory
from tests.support.tier import examples

BROKERS = range(1, 6)
Where = tuple[bytes, int]


@dataclass
class Process:
    """A broker as it is, whatever the controller thinks of it."""

    id: int
    alive: bool = False
    epoch: int | None = None
    """What it was told when it registered."""
    stored_epoch: int = -1
    """What its disk says, and can vouch for."""
    disks: int = 0
    harm: str = ""
    """What happens to its disk before it is up again."""
    logs: dict[Where, list[int]] = field(default_factory=dict)
    doubts: set[Where] = field(default_factory=set)
    """Where it may lack something that it had acknowledged, and has not said so yet."""
    backup: tuple[int, int, dict[Where, list[int]]] = (-1, 0, {})
    """Its disk as it was when it last started: epoch, number of the disk, logs."""


class World(SmallCluster):
    def __init__(self, seed: int) -> None:
        super().__init__(0)
        self.random = Random(seed)
        self.processes = {broker_id: Process(broker_id) for broker_id in BROKERS}
        self.committed: dict[Where, list[int]] = {}
        self.fetched: dict[tuple[Where, int], dict[int, tuple[int, int]]] = {}
        """How far each has come under one leader epoch, and which broker epoch it had then."""
        self.written = 0
        self.topics_made = 0
        self.allowed: set[Where] = set()
        """Where an operator has just allowed an unclean election."""
        self.joining: list[int] = []
        """Who has just been let into an in-sync set, and may have been elected at once."""
        self.unclean_elections = 0
        self.eligible_elections = 0

    # -- what the cluster says ---------------------------------------------------------------------

    def partitions(self) -> list[tuple[TopicImage, PartitionImage]]:
        return [(t, p) for t in self.agreed.topics.values() for p in t.partitions]

    def serves(self, broker_id: int) -> bool:
        process = self.processes[broker_id]
        broker = self.agreed.brokers.get(broker_id)
        return (
            process.alive
            and broker is not None
            and process.epoch == broker.epoch
            and not broker.fenced
        )

    def acts(self, leader_id: int) -> bool:
        return self.serves(leader_id) and self.random.random() < 0.7

    def log(self, broker_id: int, where: Where) -> list[int]:
        return self.processes[broker_id].logs.setdefault(where, [])

    # -- what happens to brokers -------------------------------------------------------------------

    def start(self, process: Process) -> None:
        if process.alive:
            return
        process.alive = True
        process.epoch = None
        if process.harm == "power":
            for where, log in process.logs.items():
                kept = self.random.randint(0, len(log))
                if kept < len(log) or self.random.random() < 0.5:  # it may not be sure either
                    process.doubts.add(where)
                del log[kept:]
        elif process.harm == "wipe":
            process.stored_epoch = -1
            process.disks += 1
            process.logs.clear()
            process.doubts.clear()
        elif process.harm == "restore":
            process.stored_epoch, process.disks, process.logs = process.backup
            process.doubts.clear()
        process.harm = ""
        logs = {where: log.copy() for where, log in process.logs.items()}
        process.backup = (process.stored_epoch, process.disks, logs)
        self.enrol(process)

    def enrol(self, process: Process) -> None:
        if not process.alive or process.epoch is not None:
            return
        vouched = process.stored_epoch
        disk = directory(process.id, process.disks)
        before = self.agreed.brokers.get(process.id)
        wiped = before is not None and before.log_dirs != [disk]
        active = before is not None and not before.fenced
        trusted = vouched >= 0 and before is not None and vouched >= before.active_epoch
        previous = unvouched(vouched) if process.doubts and vouched >= 0 else vouched
        answer = self.register(process.id, previous_epoch=previous, log_dir=disk)
        if wiped and active:
            assert answer.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
            return
        assert answer.error_code == 0
        if not trusted:
            self.check_distrust(process, wiped)
            process.doubts.clear()
        if self.random.random() < 0.8:  # or else the answer is lost
            process.epoch = process.stored_epoch = answer.broker_epoch

    def confess(self, process: Process) -> None:
        """It says of each partition in which it may have lost something that it has."""
        for topic, partition in self.partitions():
            where = (topic.topic_id, partition.index)
            if process.id in partition.replicas and where in process.doubts:
                self.lose(process.id, partition.index, topic.name)
                partition = topic.partitions[partition.index]
                self.check_distrusted(process, topic, partition, wiped=False)
        process.doubts.clear()

    def check_distrust(self, process: Process, wiped: bool) -> None:
        for topic, partition in self.partitions():
            self.check_distrusted(process, topic, partition, wiped=wiped)

    def check_distrusted(
        self, process: Process, topic: TopicImage, partition: PartitionImage, *, wiped: bool
    ) -> None:
        """Only one that keeps a partition alone may stay in sync, and makes do with what it has."""
        assert process.id not in partition.elr
        if process.id in partition.isr:
            assert not wiped
            assert partition.isr == [process.id]
            assert set(partition.replicas) - set(partition.adding_replicas) <= {process.id}
            where = (topic.topic_id, partition.index)
            self.committed[where] = self.log(process.id, where).copy()

    def stop(self, process: Process) -> None:
        if not process.alive:
            return
        process.alive = False
        process.harm = self.random.choice(["", "", "", "power", "wipe", "restore"])
        if self.random.random() < 0.7:
            self.controller.disconnected(process.id, self.now_ms)

    def leave(self, process: Process) -> None:
        if process.alive and process.epoch is not None and self.is_known(process):
            answer = self.beat(process.id, epoch=process.epoch, want_shut_down=True)
            if answer.should_shut_down:
                process.alive = False

    def is_known(self, process: Process) -> bool:
        broker = self.agreed.brokers.get(process.id)
        if broker is not None and broker.epoch == process.epoch:
            return True
        process.epoch = None
        return False

    def call(self, process: Process) -> None:
        if process.alive and process.epoch is not None and self.is_known(process):
            behind = self.random.random() < 0.1
            broker = self.agreed.brokers[process.id]
            self.confess(process)
            if broker.in_controlled_shutdown:
                process.epoch = None  # it has changed its mind, so it registers again
            else:
                self.beat(process.id, epoch=process.epoch, offset=0 if behind else None)

    def forget(self, process: Process) -> None:
        request = UnregisterBrokerRequest(process.id)
        self.agree(self.controller.unregister_broker(request))

    # -- what happens to data ----------------------------------------------------------------------

    def produce(self, topic: TopicImage, partition: PartitionImage) -> None:
        if partition.leader != -1 and self.serves(partition.leader):
            self.written += 1
            self.log(partition.leader, (topic.topic_id, partition.index)).append(self.written)

    def replicate(self, topic: TopicImage, partition: PartitionImage) -> None:
        """One follower takes over what the leader has, and gives up what it has not."""
        follower = self.random.choice(partition.replicas)
        leader = partition.leader
        if leader in (-1, follower) or not self.serves(leader):
            return
        epoch = self.processes[follower].epoch
        if not self.processes[follower].alive or epoch is None:
            return
        where = (topic.topic_id, partition.index)
        self.processes[follower].logs[where] = self.log(leader, where).copy()
        progress = self.fetched.setdefault((where, partition.leader_epoch), {})
        progress[follower] = (len(self.log(leader, where)), epoch)

    def change_isr(self, topic: TopicImage, partition: PartitionImage) -> None:
        """A leader lets in who has all that is committed, and lets go whom it likes."""
        if partition.leader == -1 or not self.serves(partition.leader):
            return
        where = (topic.topic_id, partition.index)
        progress = self.fetched.get((where, partition.leader_epoch), {})
        enough = len(self.committed.get(where, []))
        caught_up = [follower for follower, (length, _) in progress.items() if length >= enough]
        isr = [r for r in {*caught_up, *partition.isr} if self.random.random() < 0.8]
        request = self.isr_request([*{partition.leader, *isr}], partition.index, topic.name)
        states = request.topics[0].partitions[0].new_isr_with_epochs
        expected = 0
        for state in states:
            if state.broker_id in partition.isr:
                continue
            _, state.broker_epoch = progress.get(state.broker_id, (0, state.broker_epoch))
            broker = self.agreed.brokers.get(state.broker_id)
            if broker is None or not broker.is_active or broker.epoch != state.broker_epoch:
                expected = ErrorCode.INELIGIBLE_REPLICA
        self.joining = [state.broker_id for state in states]
        error = self.alter(request).error_code
        assert error == expected or (expected == 0 and error == ErrorCode.NEW_LEADER_ELECTED)

    def make_topic(self) -> None:
        if len(self.agreed.topics) == 3:
            return
        self.topics_made += 1
        topic = CreatableTopic(f"t{self.topics_made}", 2, self.random.choice([1, 2, 3]))
        if self.random.random() < 0.2:
            topic.configs = [CreatableTopicConfig("unclean.leader.election.enable", "true")]
        min_isr = self.random.choice([1, 2, 2, 3])
        topic.configs.append(CreatableTopicConfig("min.insync.replicas", str(min_isr)))
        self.agree(self.controller.create_topics(CreateTopicsRequest([topic])))

    def grow_topic(self, topic: TopicImage) -> None:
        if len(topic.partitions) < 4:
            wanted = CreatePartitionsTopic(topic.name, len(topic.partitions) + 1, None)
            self.agree(self.controller.create_partitions(CreatePartitionsRequest([wanted])))

    def change_min_isr(self, topic: TopicImage) -> None:
        value = self.random.choice("123")
        config = AlterableConfig("min.insync.replicas", 0, value)
        resource = AlterConfigsResource(2, topic.name, [config])
        request = IncrementalAlterConfigsRequest([resource])
        self.agree(self.controller.incremental_alter_configs(request))

    def end_of(self, broker_id: int, where: Where) -> ReplicaEnd:
        """Records have numbers, which say as much as their epochs."""
        log = self.processes[broker_id].logs.get(where, [])
        return ReplicaEnd(log[-1] if log else -1, len(log))

    def drop_topic(self, topic: TopicImage) -> None:
        self.agree(self.controller.delete_topics(DeleteTopicsRequest(topic_names=[topic.name])))

    def move_some(self, topic: TopicImage, partition: PartitionImage) -> None:
        count = self.random.choice([1, 2, 3])
        replicas = None if self.random.random() < 0.3 else self.random.sample(BROKERS, count)
        self.move(replicas, partition.index, topic.name)

    def elect_some(self, topic: TopicImage, partition: PartitionImage) -> None:
        unclean = self.random.random() < 0.3
        if unclean:
            self.allowed.add((topic.topic_id, partition.index))
        self.elect(int(unclean), partition.index, topic.name)

    def change_controller(self) -> None:
        """The next one starts from a snapshot."""
        image = MetadataImage()
        for record in self.agreed.snapshot():
            image.replay(record)
        assert image == self.agreed
        self.controller = self.new_controller(image)

    # -- one step ----------------------------------------------------------------------------------

    def watch(self, action: Callable[[], None]) -> None:
        self.warnings, self.joining = [], []
        action()
        self.check(self.agreed)

    def watch_decision(self, before: MetadataImage) -> None:
        self.check(before)

    def step(self) -> None:
        process = self.processes[self.random.choice(BROKERS)]
        choice = self.random.random()
        if choice < 0.10:
            self.start(process)
        elif choice < 0.13:
            self.enrol(process)
        elif choice < 0.30:
            self.call(process)
        elif choice < 0.34:
            self.stop(process)
        elif choice < 0.36:
            self.leave(process)
        elif choice < 0.365:
            self.forget(process)
        elif choice < 0.42:
            self.tick(self.random.choice([10, 200, 1500]))
        elif choice < 0.43:
            self.change_controller()
        elif choice < 0.45 or not self.agreed.topics:
            self.make_topic()
        else:
            self.step_on_data(choice)

    def step_on_data(self, choice: float) -> None:
        topic, partition = self.random.choice(self.partitions())
        if choice < 0.455:
            self.grow_topic(topic)
        elif choice < 0.46:
            self.drop_topic(topic)
        elif choice < 0.465:
            self.change_min_isr(topic)
        elif choice < 0.49:
            self.move_some(topic, partition)
        elif choice < 0.51:
            self.elect_some(topic, partition)
        elif choice < 0.63:
            self.produce(topic, partition)
        elif choice < 0.85:
            self.replicate(topic, partition)
        else:
            self.change_isr(topic, partition)

    # -- what must hold ----------------------------------------------------------------------------

    def check(self, before: MetadataImage) -> None:
        assert self.agreed == self.controller.pending_image
        assert self.agreed.next_broker_epoch >= before.next_broker_epoch
        there = set()
        for topic, partition in self.partitions():
            where = (topic.topic_id, partition.index)
            there.add(where)
            self.check_partition(partition)
            old = before.partition(*where)
            if old is not None and old is not partition:
                self.check_change(topic, old, partition)
            self.drop_removed(where, partition)
            self.check_data(where, partition)
        self.committed = {w: log for w, log in self.committed.items() if w in there}
        self.allowed.clear()

    def check_partition(self, partition: PartitionImage) -> None:
        replicas = set(partition.replicas)
        assert replicas
        assert len(replicas) == len(partition.replicas)
        assert set(partition.isr) <= replicas
        assert set(partition.elr) <= replicas - set(partition.isr)
        assert set(partition.adding_replicas) | set(partition.removing_replicas) <= replicas
        assert not set(partition.adding_replicas) & set(partition.removing_replicas)
        if partition.leader == -1:
            assert partition.isr or set(partition.last_known_elr) <= replicas
            able = (*partition.isr, *partition.elr)
            assert not any(self.agreed.is_active(member) for member in able)
            return
        assert partition.leader in partition.isr
        assert not self.agreed.brokers[partition.leader].fenced
        assert partition.last_known_elr == []

    def check_change(self, topic: TopicImage, old: PartitionImage, new: PartitionImage) -> None:
        where = (topic.topic_id, new.index)
        assert new.partition_epoch > old.partition_epoch
        assert new.leader_epoch >= old.leader_epoch
        if new.leader != old.leader:
            assert new.leader_epoch > old.leader_epoch
        if old.isr and not new.isr:
            assert new.leader == -1
        if new.leader in old.elr and new.leader not in (*old.isr, *self.joining):
            self.eligible_elections += 1
        if new.leader not in (-1, old.leader, *old.isr, *old.elr, *self.joining):
            configs = self.agreed.topic_configs(topic.name)
            set_so = configs.get("unclean.leader.election.enable") == "true"
            assert set_so or where in self.allowed
            assert any(f"{topic.name}-{new.index} " in text for text in self.warnings)
            assert new.isr == [new.leader]
            self.committed[where] = self.log(new.leader, where).copy()
            self.unclean_elections += 1

    def drop_removed(self, where: Where, partition: PartitionImage) -> None:
        for process in self.processes.values():
            if process.id not in partition.replicas:
                process.logs.pop(where, None)
                self.fetched.get((where, partition.leader_epoch), {}).pop(process.id, None)

    def check_data(self, where: Where, partition: PartitionImage) -> None:
        """Every possible leader has all that is committed; commit what all in sync have."""
        if partition.leader == -1 or not self.serves(partition.leader):
            return
        log = self.log(partition.leader, where)
        committed = self.committed.setdefault(where, [])
        assert log[: len(committed)] == committed
        if partition.elr:
            return
        progress = self.fetched.get((where, partition.leader_epoch), {})
        reached = [progress.get(m, (0, 0))[0] for m in partition.isr if m != partition.leader]
        if min([len(log), *reached]) > len(committed):
            self.committed[where] = log[: min([len(log), *reached])]

    # -- when all is well again --------------------------------------------------------------------

    def heal(self) -> None:
        for _ in range(100):
            for process in self.processes.values():
                for action in (self.start, self.enrol, self.call):
                    self.watch(partial(action, process))
            self.watch(partial(self.tick, 100))
        assert all(self.serves(broker_id) for broker_id in BROKERS)
        for _ in range(30):
            for topic in self.agreed.topics.values():
                for index in range(len(topic.partitions)):
                    for step in (self.produce, self.replicate, self.change_isr):
                        self.watch(partial(step, topic, topic.partitions[index]))

    def check_healed(self) -> None:
        for topic, partition in self.partitions():
            if partition.isr or partition.elr:
                assert partition.leader != -1
            else:
                self.watch(partial(self.elect_any, topic, partition))

    def elect_any(self, topic: TopicImage, partition: PartitionImage) -> None:
        self.allowed.add((topic.topic_id, partition.index))
        assert self.elect(1, partition.index, topic.name) == 0


@pytest.mark.parametrize("seed", range(examples(40)))
def test_a_random_life(seed: int) -> None:
    world = World(seed)
    for process in world.processes.values():
        world.start(process)
    for _ in range(600):
        world.watch(world.step)
    world.heal()
    world.check_healed()
