"""A controller, brokers at its command, and decisions that are agreed on as soon as they are made.

Every record goes through its bytes into an image of its own, which has to stay equal to the
controller's.
"""

from collections.abc import Sequence
from itertools import count
from typing import TypeVar

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.controller.configs import BrokerSettings
from barnabas.controller.controller import Controller
from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.decision import BrokerEvent, Decision
from barnabas.controller.elect_leaders import leaderless
from barnabas.controller.lost_replicas import LOST_DIRECTORY
from barnabas.controller.replica_ends import ReplicaEnd
from barnabas.metadata.image import MetadataImage, PartitionImage
from barnabas.metadata.records import (
    MetadataRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    PartitionResult,
    TopicData,
)
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    DirectoryData,
)
from barnabas.wire.messages.assign_replicas_to_dirs import PartitionData as PartitionData73
from barnabas.wire.messages.assign_replicas_to_dirs import TopicData as TopicData73
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from barnabas.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

AnswerT = TypeVar("AnswerT")

SESSION_MS = 3000
GRACE_MS = 150
UNCLEAN = {"unclean.leader.election.enable": "true"}


def directory(broker_id: int, number: int = 0) -> bytes:
    return bytes([broker_id, number]) * 8


class SmallCluster:
    """Brokers 1, 2, 3, … are registered and let in at once, as many as are asked for."""

    def __init__(
        self,
        brokers: int = 3,
        config: ControllerConfig | None = None,
        static: dict[str, str] | None = None,
        racks: dict[int, str] | None = None,
        hosts: dict[int, str] | None = None,
    ) -> None:
        self.config = config or ControllerConfig(SESSION_MS, GRACE_MS)
        self.settings = BrokerSettings(1, BROKER_CONFIGS, static or {})
        self.racks = racks or {}
        self.hosts = hosts or {}
        self.now_ms = 0
        self.wall_ms = 0
        self.end_offset = 0
        self.agreed = MetadataImage()
        self.records: list[MetadataRecord] = []
        """Those of the last decision."""
        self.warnings: list[str] = []
        self.broker_events: list[BrokerEvent] = []
        """Those of all decisions."""
        self.ends: dict[int, ReplicaEnd] = {}
        """How far the logs of a broker go, if not as far as the others'."""
        self.dead: set[int] = set()
        """Who does nothing, whatever the controller thinks."""
        self._uuids = count(1)
        self.controller = self.new_controller(self.agreed)
        for broker_id in range(1, brokers + 1):
            self.join(broker_id)

    def new_controller(self, image: MetadataImage) -> Controller:
        return Controller(
            image,
            self.config,
            settings=self.settings,
            new_uuid=lambda: next(self._uuids).to_bytes(16, "big"),
            now_ms=self.now_ms,
            wall_ms=lambda: self.wall_ms,
        )

    def agree(self, decision: Decision[AnswerT]) -> AnswerT:
        before = self.agreed.copy()
        for record in decision.records:
            self.agreed.replay(decode_metadata_record(encode_metadata_record(record)))
        self.end_offset += len(decision.records)
        self.records = decision.records
        self.warnings = decision.warnings
        self.broker_events += decision.broker_events
        assert self.agreed == self.controller.pending_image
        self.watch_decision(before)
        if decision.records:
            self._leaders_act()
            self.records = decision.records
            self.warnings = decision.warnings
        if decision.to_recover:
            self.recover(decision.to_recover)
        return decision.answer

    def watch_decision(self, before: MetadataImage) -> None:
        """Called after each decision, with what was agreed before it."""

    def recover(self, wanted: list[tuple[bytes, int]]) -> None:
        """The controller's node asks the replicas, and lets the controller elect."""
        ends = {where: self.replica_ends(where) for where in wanted}
        self.agree(self.controller.recover(ends))

    def replica_ends(self, where: tuple[bytes, int]) -> dict[int, ReplicaEnd]:
        """What the replicas that are there say about their logs."""
        partition = self.agreed.partition(*where)
        assert partition is not None
        return {
            replica: self.end_of(replica, where)
            for replica in partition.replicas
            if self.agreed.is_active(replica)
        }

    def end_of(self, broker_id: int, _: tuple[bytes, int]) -> ReplicaEnd:
        return self.ends.get(broker_id, ReplicaEnd(0, 100))

    def _leaders_act(self) -> None:
        """Leaders hear who is gone, and take it out of the in-sync set."""
        for topic in tuple(self.agreed.topics.values()):
            for partition in topic.partitions:
                isr = [m for m in partition.isr if m == partition.leader or self.is_active(m)]
                if isr != partition.isr and partition.leader >= 0 and self.acts(partition.leader):
                    self.set_isr(isr, partition.index, topic.name)

    def is_active(self, broker_id: int) -> bool:
        return self.agreed.is_active(broker_id)

    def acts(self, leader_id: int) -> bool:
        """Whether a leader is really alive."""
        return leader_id not in self.dead

    # -- brokers -----------------------------------------------------------------------------------

    def epoch(self, broker_id: int) -> int:
        return self.agreed.brokers[broker_id].epoch

    def register(
        self,
        broker_id: int,
        *,
        previous_epoch: int = -1,
        log_dir: bytes | None = None,
        incarnation: int = 0,
        features: Sequence[Feature] = (),
    ) -> BrokerRegistrationResponse:
        request = BrokerRegistrationRequest(
            broker_id,
            "cluster",
            incarnation.to_bytes(16, "big"),
            [Listener("PLAINTEXT", self.hosts.get(broker_id, f"host-{broker_id}"), 9092)],
            list(features),
            rack=self.racks.get(broker_id),
            log_dirs=[log_dir or directory(broker_id)],
            previous_broker_epoch=previous_epoch,
        )
        return self.agree(self.controller.register_broker(request, self.now_ms))

    def beat(
        self,
        broker_id: int,
        *,
        offset: int | None = None,
        epoch: int | None = None,
        want_fence: bool = False,
        want_shut_down: bool = False,
        clock_ms: int = -1,
    ) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id,
            self.epoch(broker_id) if epoch is None else epoch,
            self.end_offset if offset is None else offset,
            want_fence,
            want_shut_down,
            clock_ms=clock_ms,
        )
        return self.agree(self.controller.heartbeat(request, self.now_ms, self.end_offset))

    def join(self, broker_id: int, **how: int | bytes) -> None:
        assert self.register(broker_id, **how).error_code == 0  # type: ignore[arg-type]
        assert not self.beat(broker_id).is_fenced

    def lose(
        self, broker_id: int, index: int = 0, name: str = "t", directory: bytes = LOST_DIRECTORY
    ) -> int:
        """A replica lacks something that it had acknowledged, and its broker says so."""
        topic_id = self.agreed.topics[name].topic_id
        request = AssignReplicasToDirsRequest(
            broker_id,
            self.epoch(broker_id),
            [DirectoryData(directory, [TopicData73(topic_id, [PartitionData73(index)])])],
        )
        answer = self.agree(self.controller.assign_replicas_to_dirs(request))
        assert answer.error_code == 0
        return answer.directories[0].topics[0].partitions[0].error_code

    def restart(self, broker_id: int) -> None:
        """It is killed and comes back with all it had."""
        self.join(broker_id, previous_epoch=self.epoch(broker_id))

    def kill(self, *broker_ids: int) -> None:
        """Their connections break, and no other falls silent meanwhile."""
        for broker_id in broker_ids:
            self.controller.disconnected(broker_id, self.now_ms)
        self.now_ms += GRACE_MS
        self.tick()

    def tick(self, after_ms: int = 0) -> None:
        self.now_ms += after_ms
        self.agree(self.controller.tick(self.now_ms))

    # -- partitions --------------------------------------------------------------------------------

    def create(self, *assignment: list[int], name: str = "t", **configs: str) -> None:
        """A topic placed by hand."""
        topic = CreatableTopic(
            name,
            -1,
            -1,
            [CreatableReplicaAssignment(index, ids) for index, ids in enumerate(assignment)],
            [CreatableTopicConfig(key, value) for key, value in configs.items()],
        )
        self.create_topic(topic)

    def create_topic(self, topic: CreatableTopic) -> None:
        request = CreateTopicsRequest([topic])
        (result,) = self.agree(self.controller.create_topics(request)).topics
        assert result.error_code == 0, result.error_message

    def partition(self, index: int = 0, name: str = "t") -> PartitionImage:
        return self.agreed.topics[name].partitions[index]

    def state(self, index: int = 0, name: str = "t") -> tuple[int, list[int]]:
        """Leader and in-sync set."""
        partition = self.partition(index, name)
        return partition.leader, partition.isr

    def isr_request(self, isr: list[int], index: int = 0, name: str = "t") -> AlterPartitionRequest:
        """What the leader would send."""
        partition = self.partition(index, name)
        epochs = {broker.id: broker.epoch for broker in self.agreed.brokers.values()}
        data = PartitionData(
            index,
            partition.leader_epoch,
            new_isr_with_epochs=[BrokerState(member, epochs.get(member, -1)) for member in isr],
            partition_epoch=partition.partition_epoch,
        )
        topic_id = self.agreed.topics[name].topic_id
        return AlterPartitionRequest(
            partition.leader,
            epochs[partition.leader],
            [TopicData(topic_id=topic_id, partitions=[data])],
        )

    def alter(self, request: AlterPartitionRequest) -> PartitionResult:
        answer = self.agree(self.controller.alter_partition(request))
        assert answer.error_code == 0
        (topic,) = answer.topics
        (result,) = topic.partitions
        return result

    def set_isr(self, isr: list[int], index: int = 0, name: str = "t") -> PartitionResult:
        return self.alter(self.isr_request(isr, index, name))

    def elect(self, election_type: int, index: int = 0, name: str = "t") -> int:
        request = ElectLeadersRequest(election_type, [TopicPartitions(name, [index])])
        ends = {
            (topic.topic_id, partition.index): self.replica_ends((topic.topic_id, partition.index))
            for topic, partition in leaderless(self.agreed, request)
        }
        answer = self.agree(self.controller.elect_leaders(request, ends))
        return answer.replica_election_results[0].partition_result[0].error_code

    def move(
        self,
        replicas: list[int] | None,
        index: int = 0,
        name: str = "t",
        *,
        may_resize: bool = True,
    ) -> int:
        request = AlterPartitionReassignmentsRequest(
            allow_replication_factor_change=may_resize,
            topics=[ReassignableTopic(name, [ReassignablePartition(index, replicas)])],
        )
        answer = self.agree(self.controller.alter_partition_reassignments(request))
        return answer.responses[0].partitions[0].error_code
