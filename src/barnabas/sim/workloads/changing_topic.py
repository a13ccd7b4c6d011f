"""A topic that an operator changes while it is used: its settings, partitions and replication.

Producers, readers and a group begin with the partitions that there are, and find those that are
added by asking for metadata, as clients do. What is acknowledged has to be on as many disks as
`min.insync.replicas` said at that time.
"""

from random import Random

from barnabas.sim.checks.history import Place
from barnabas.sim.checks.min_insync import MIN_ISR
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.sim.workloads import compaction_workload, deletion_workload
from barnabas.sim.workloads.consumer import Consumer
from barnabas.sim.workloads.consumer_group_workload import ConsumerGroupWorkload
from barnabas.sim.workloads.producer import Producer
from barnabas.sim.workloads.topic_operator import (
    BROKER_CHOICES,
    ChangedSetting,
    Choices,
    TopicOperator,
)

TOPIC = "changing"
_GROUP = "readers-of-changing"
_ADDED_WITHIN_US = 20_000_000
_CHOICES: Choices = {
    ChangedSetting(TOPIC, MIN_ISR): ("1", "2"),
    ChangedSetting(TOPIC, "flush.messages"): ("1", None),
    ChangedSetting(TOPIC, "compression.type"): ("gzip", "producer", None),
    ChangedSetting(TOPIC, "message.timestamp.type"): ("LogAppendTime", "CreateTime", None),
}
_SEGMENTS: Choices = {ChangedSetting(TOPIC, "segment.bytes"): ("1024", "2000", "100000", None)}
_RETENTION: Choices = {
    ChangedSetting(deletion_workload.TOPIC, "retention.bytes"): ("3000", "-1"),
    ChangedSetting(deletion_workload.TOPIC, "retention.ms"): ("1500", "864000000"),
}
_CLEANUP: Choices = {
    ChangedSetting(compaction_workload.TOPIC, "cleanup.policy"): (
        "compact",
        "delete",
        "compact,delete",
    ),
    ChangedSetting(compaction_workload.TOPIC, "min.cleanable.dirty.ratio"): ("0", "0.5"),
}


class ChangingTopicWorkload:
    def __init__(
        self, cluster: Cluster, places: list[Place], random: Random, *, topics: set[str]
    ) -> None:
        """`topics` are all topics of clients, some of which are changed too."""
        self._cluster = cluster
        self._random = random
        self.places = list(places)
        """The partitions that there are, as far as any client knows."""
        choices = _CHOICES | BROKER_CHOICES
        if "log.segment.bytes" not in cluster.profile.settings:
            choices |= _SEGMENTS
        if deletion_workload.TOPIC in topics:
            choices |= _RETENTION
        if compaction_workload.TOPIC in topics:
            choices |= _CLEANUP
        self._operator = TopicOperator(cluster, TOPIC, len(places), choices)
        self._operator_client = cluster.clients[-1]
        self._group: ConsumerGroupWorkload | None = None

    def begin(self) -> None:
        """On two machines, which can be on different sides of a cut."""
        near, far = self._cluster.client("changing-1"), self._cluster.client("changing-2")
        known = list(self.places)
        producer = Producer(near, TOPIC, known, idempotent=self._random.random() < 0.6)
        near.run(producer.run((20, 120)))
        near.run(self._look_for_partitions(near, known, None))
        consumer = Consumer(far, f"{TOPIC}-reader", list(self.places))
        far.run(consumer.run())
        far.run(self._look_for_partitions(far, self.places, consumer))
        self._operator_client.run(self._operator.run())
        if self._random.random() < 0.6:
            self._group = ConsumerGroupWorkload(self._cluster, self.places, _GROUP)
            self._group.begin()

    async def _look_for_partitions(
        self, client: Client, known: list[Place], consumer: Consumer | None
    ) -> None:
        while not client.is_stopping:
            await client.pause(100, 500)
            try:
                await client.refresh([TOPIC])
            except TryAgain as error:
                client.simulator.remark("%s: %s", client.name, error)
            for place in client.places_of(TOPIC):
                if place not in known:
                    known.append(place)
                    client.simulator.say(f"{client.name} has found {place}")
                if consumer is not None:
                    consumer.positions.setdefault(place, 0)

    async def finish(self, judge: Client) -> None:
        """All partitions that were wanted are there afterwards."""
        while not self._operator_client.is_done:
            await judge.pause(50, 100)
        await self._operator.finish(judge)
        self.places[:] = self._operator.places

    def judge(self) -> None:
        """The group has read all partitions, and gets another one without a change of members."""
        if self._group is not None:
            self._group.judge(self._add_partition)

    def _add_partition(self) -> None:
        self._operator.wants_another()
        self._operator_client.run(self._operator.finish(self._operator_client))
        simulator = self._cluster.simulator
        simulator.run_until(simulator.now_us + 1000)
        simulator.run_until_true(
            lambda: self._operator_client.is_done, _ADDED_WITHIN_US, "a partition is added"
        )
        self.places[:] = self._operator.places

    def check_settings(self) -> None:
        self._operator.check_settings()
