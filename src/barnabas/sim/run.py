"""One run: a cluster is brought up, hurt while clients use it, and judged when it has recovered."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster, overheard
from barnabas.sim.faults.faults import Faults
from barnabas.sim.faults.long_cuts import LongCuts
from barnabas.sim.faults.releases import Releases
from barnabas.sim.partial_recovery import PartialRecovery
from barnabas.sim.process.simulator import Simulator, Stuck
from barnabas.sim.profile import Profile, draw_profile
from barnabas.sim.reduction import Reduction
from barnabas.sim.workloads import (
    changing_topic,
    compaction_workload,
    deletion_workload,
    expiry_workload,
    registry_workload,
    reused_name,
    service,
)
from barnabas.sim.workloads.administrator import Administrator
from barnabas.sim.workloads.changing_topic import ChangingTopicWorkload
from barnabas.sim.workloads.compaction_workload import CompactionWorkload
from barnabas.sim.workloads.consumer import Consumer
from barnabas.sim.workloads.consumer_group_workload import ConsumerGroupWorkload
from barnabas.sim.workloads.deletion_workload import DeletionWorkload
from barnabas.sim.workloads.expiry_workload import ExpiryWorkload
from barnabas.sim.workloads.member import Committer, Member, check_commits
from barnabas.sim.workloads.mixed_group_workload import MixedGroupWorkload
from barnabas.sim.workloads.producer import Producer
from barnabas.sim.workloads.real_client import RealClientWorkload
from barnabas.sim.workloads.registry_workload import RegistryWorkload
from barnabas.sim.workloads.reused_name import ReusedNameWorkload
from barnabas.sim.workloads.service import ServiceWorkload
from barnabas.sim.workloads.share_workload import ShareWorkload
from barnabas.sim.workloads.transactional_workload import INTERNAL_PLACES, TransactionalWorkload
from barnabas.sim.workloads.voter_operator import VoterOperator

_GROUP = "readers"
_REAL_CLIENT = 0.25
"""The share of runs, of every emphasis, in which the real client takes part."""
_CONSUMER_GROUPS = 0.2
"""The share in which there is a consumer group of the newer protocol."""
_MIXED_GROUPS = 0.1
"""The share in which there is a group with members of both protocols,"""
_SLOW_US = 200_000
"""but not where a packet may take so long."""
_SHARE_GROUPS = 0.1
"""The share in which there is a share group."""
_DELETIONS = 0.12
"""The share in which there is a topic whose oldest records are deleted."""
_COMPACTIONS = 0.1
"""The share in which there is a compacted topic."""
_REUSED_NAMES = 0.1
"""The share in which a topic is deleted and created again with the same name."""
_REGISTRIES = 0.08
"""The share in which instances of the schema registry give ids."""
_CHANGES = 0.12
"""The share in which an operator changes settings, partitions and replication of topics."""
_EXPIRY = 0.1
"""The share in which what is stored expires within minutes."""
_VOTER_CHANGES = 0.1
"""The share in which voters are added and removed."""
_LONG_CUTS = 0.1
"""The share in which a cut lasts longer than sessions, leases and timeouts."""
_MIXED_RELEASES = 0.15
"""The share in which nodes of an older release are upgraded while it runs."""
_PARTIAL_RECOVERIES = 0.15
"""The share in which a majority has to make progress before the others are there again."""
_METADATA_SNAPSHOTS = 0.2
"""The share in which metadata is stored in snapshots, and removed from the log, all the time."""
_SNAPSHOT_RECORDS = 15
_SERVICES = 0.03
"""The share in which an application runs: schedules, and a handler with state."""
_START_US = 20_000_000
_RECOVERY_US = 40_000_000
_STEP_US = 50_000
_SERVICE_US = 150_000_000
"""Its clients have the timeouts of all applications."""


@dataclass(frozen=True)
class Outcome:
    """What a run that broke no promise has seen."""

    seed: int
    emphasis: str
    trace_digest: str
    virtual_ms: int
    events: int
    elections: int
    acknowledged: int
    reads: int
    commits: int
    transactions: int
    reached: dict[str, int] = field(default_factory=dict, repr=False)
    """States, and how often they were reached."""

    def __str__(self) -> str:
        return (
            f"seed {self.seed} ({self.emphasis}): {self.virtual_ms / 1000:.1f} s, "
            f"{self.events} events, {self.elections} elections, {self.acknowledged} batches "
            f"acknowledged, {self.reads} records read, {self.commits} commits, "
            f"{self.transactions} transactions; "
            f"trace {self.trace_digest[:12]}"
        )


def run_seed(
    seed: int,
    *,
    emphasis: str | None = None,
    say: Callable[[str], None] | None = None,
    reduction: Reduction | None = None,
) -> Outcome:
    """Run a seed. Raises `Violation`, or `Stuck` if the cluster does not recover."""
    run = prepare(seed, emphasis, say, reduction)
    play(run)
    return run.outcome()


def prepare(
    seed: int,
    emphasis: str | None = None,
    say: Callable[[str], None] | None = None,
    reduction: Reduction | None = None,
) -> "Run":
    profile = draw_profile(Simulator(seed).source("profile"), emphasis)
    return Run(seed, profile, say, reduction or Reduction())


def play(run: "Run") -> None:
    """Raises what `run_seed` raises."""
    collecting = gc.isenabled()
    gc.disable()  # what it does, and when, is not part of the seed
    try:
        with overheard(run.cluster.simulator):
            run.play()
    finally:
        run.cluster.end()
        if collecting:
            gc.enable()


class Run:
    """The acts of the play."""

    def __init__(
        self,
        seed: int,
        profile: Profile,
        say: Callable[[str], None] | None,
        reduction: Reduction,
    ) -> None:
        self.seed = seed
        self._reduction = reduction
        self.parts: set[str] = set()
        """What it has that can be left out."""
        for part, count in (
            ("transactions", profile.transactional_ids),
            ("members", profile.members),
            ("committers", profile.committers),
            ("further producers", profile.producers - 1),
        ):
            if count > 0 and part not in reduction.without:
                self.parts.add(part)
        profile = reduction.applied_to(profile)
        self.profile = profile
        self.cluster = Cluster(seed, profile, say)
        self.simulator = self.cluster.simulator
        self.simulator.remark("%s", profile)
        self._producers: list[Producer] = []
        self._members: list[Member] = []
        self._groups: list[str] = []
        self._transactions: TransactionalWorkload | None = None
        self._consumer_group: ConsumerGroupWorkload | None = None
        self._mixed_group: MixedGroupWorkload | None = None
        self._share_group: ShareWorkload | None = None
        self._deletions: DeletionWorkload | None = None
        self._compactions: CompactionWorkload | None = None
        self._reused_name: ReusedNameWorkload | None = None
        self._changing: ChangingTopicWorkload | None = None
        self._service: ServiceWorkload | None = None
        self._registry: RegistryWorkload | None = None
        client = self.cluster.client("admin")
        self.administrator = Administrator(
            client, list(self.cluster.machines), profile.replication_factor
        )
        self.faults = Faults(self.cluster, self.administrator, reduction.faults)
        self._faults_until_us = 0
        self._releases: Releases | None = None
        if self._has("mixed releases", _MIXED_RELEASES):
            self._releases = Releases(self.cluster)

        self._long_cuts: LongCuts | None = None
        if self._has("long cuts", _LONG_CUTS, self.simulator.source("has long cuts")):
            self._long_cuts = LongCuts(self.cluster)
            self._groups += self._long_cuts.groups

        if self._has("metadata snapshots", _METADATA_SNAPSHOTS):
            for machine in self.cluster.machines.values():
                machine.snapshot_records = _SNAPSHOT_RECORDS
        self._deleting = self.simulator.source("deletions")
        self._has_deletions = self._has("deletions", _DELETIONS, self._deleting)
        self._compacting = self.simulator.source("compactions")
        self._has_compactions = self._has("compactions", _COMPACTIONS, self._compacting)
        self._has_registry = self._has("registry", _REGISTRIES)
        self._has_expiry = self._has("expiry", _EXPIRY)
        self._changes = self.simulator.source("changes")
        self._has_changes = self._has("changes", _CHANGES, self._changes)
        if self._has("voter changes", _VOTER_CHANGES):
            self.cluster.changes_voters = True
        self._has_service = self._has("services", _SERVICES)
        self._configure_machines()

    def _configure_machines(self) -> None:
        """Give them the settings of the parts that the run has."""
        for has_part, settings in (
            (self._has_deletions, deletion_workload.SETTINGS),
            (self._has_compactions, compaction_workload.SETTINGS),
            (self._has_registry, registry_workload.SETTINGS),
            (self._has_expiry, expiry_workload.SETTINGS),
            (self._has_service, service.SETTINGS),
        ):
            if has_part:
                for machine in self.cluster.machines.values():
                    machine.properties |= settings

    def _has(self, part: str, share: float, random: Random | None = None) -> bool:
        """Whether the run has a part that this share of runs have."""
        random = random or self.simulator.source(part)
        if random.random() >= share or part in self._reduction.without:
            return False
        self.parts.add(part)
        return True

    def play(self) -> None:
        self._bring_up()
        self._use()
        self.faults.begin()
        if self._releases is not None:
            self._releases.begin()
        faulty_ms = self.profile.faulty_ms
        if self._long_cuts is not None:
            faulty_ms = max(faulty_ms, self._long_cuts.begin(self._places("t")))
        self._faults_until_us = self.simulator.now_us + faulty_ms * 1000
        while self.simulator.now_us < self._faults_until_us:
            self.simulator.run_until(min(self._faults_until_us, self.simulator.now_us + _STEP_US))
        self.faults.end()
        if self._releases is not None:
            self._releases.end()
        self._recover_partially()
        self._judge()

    def end_faults_within(self, us: int) -> None:
        """Call this while there are faults."""
        self._faults_until_us = min(self._faults_until_us, self.simulator.now_us + us)

    def _wait(self, client: Client, within_us: int, what: str) -> None:
        self.simulator.run_until_true(lambda: client.is_done, within_us, what)

    def _bring_up(self) -> None:
        for machine in self.cluster.machines.values():
            delay_us = self.cluster.random.randint(0, 300_000)
            self.simulator.after(delay_us, machine.start)
        client = self.cluster.clients[0]
        configs = {
            **self._configs_of_topics(),
            "segment.bytes": str(self.cluster.random.choice((2_000, 100_000, 1 << 30))),
        }
        if "log.segment.bytes" in self.profile.settings:
            del configs["segment.bytes"]
        further = (deletion_workload, reused_name, changing_topic, registry_workload)
        topics = ("t", "out", *(each.TOPIC for each in further))
        min_insync = dict.fromkeys(topics, self.profile.min_insync_replicas)
        self.cluster.watch.guarantee.acknowledged.min_insync.update(min_insync)
        ready = self.cluster.machines.values()
        self.simulator.run_until_true(
            lambda: all(machine.is_ready for machine in ready), _START_US, "all nodes are ready"
        )
        client.run(self.administrator.create_topic("t", self.profile.partitions, configs))
        if self.profile.output_partitions:
            partitions = self.profile.output_partitions
            client.run(self.administrator.create_topic("out", partitions, configs))
        if self._has_deletions:
            client.run(self._create_short_topic(configs))
        if self._has_compactions:
            client.run(self._create_compacted_topic(configs))
        if self._has_changes:
            client.run(self._create_changing_topic(configs))
        if self._has_service:
            self._service = ServiceWorkload(self.cluster)
            client.run(self._service.create_topics(self.administrator, configs))
        if self._has_registry:
            client.run(self.administrator.create_topic(registry_workload.TOPIC, 1, configs))
        self.simulator.run_until(self.simulator.now_us + 1000)
        self._wait(client, _START_US, "the topics are created")

    def _configs_of_topics(self) -> dict[str, str]:
        """Settings of every topic that clients write to."""
        return {
            "message.timestamp.after.max.ms": str(2**63 - 1),  # clocks are set back and forth
            "min.insync.replicas": str(self.profile.min_insync_replicas),
        }

    async def _create_short_topic(self, configs: dict[str, str]) -> None:
        random = self._deleting
        configs = configs | deletion_workload.draw_configs(random)
        self.cluster.watch.deleted.topics.add(deletion_workload.TOPIC)
        partitions = random.choice((1, 2))
        await self.administrator.create_topic(deletion_workload.TOPIC, partitions, configs)

    async def _create_compacted_topic(self, configs: dict[str, str]) -> None:
        random = self._compacting
        configs = configs | compaction_workload.draw_configs(random)
        keeps_tombstones = compaction_workload.keeps_tombstones(configs)
        self.cluster.watch.expect_compaction(
            compaction_workload.TOPIC, keeps_tombstones=keeps_tombstones
        )
        partitions = random.choice((1, 2))
        await self.administrator.create_topic(compaction_workload.TOPIC, partitions, configs)

    async def _create_changing_topic(self, configs: dict[str, str]) -> None:
        self.cluster.watch.guarantee.min_insync.topics.add(changing_topic.TOPIC)
        partitions = self._changes.choice((1, 2))
        await self.administrator.create_topic(changing_topic.TOPIC, partitions, configs)

    def _places(self, topic: str) -> list[Place]:
        return [place for place in self.administrator.places if place.topic == topic]

    def _use(self) -> None:
        places = self._places("t")
        if self.profile.transactional_ids:
            self._transactions = TransactionalWorkload(self.cluster, places, self._places("out"))
            self._transactions.begin()
            self.administrator.internal_places = INTERNAL_PLACES
        if self._has("real client", _REAL_CLIENT):
            real = self.cluster.client("real-client")
            hosts = [machine.host for machine in self.cluster.machines.values()]
            RealClientWorkload(real, hosts, places).begin()
        if self._has("consumer group", _CONSUMER_GROUPS):
            self._consumer_group = ConsumerGroupWorkload(self.cluster, places)
            self._consumer_group.begin()
        # Its members wait half a second for an answer: over the slowest links they never agree.
        is_slow = self.profile.delays_us[1] >= _SLOW_US
        if self._has("mixed group", _MIXED_GROUPS) and not is_slow:
            self._mixed_group = MixedGroupWorkload(self.cluster, places)
            self._mixed_group.begin()
        if self._has("share group", _SHARE_GROUPS):
            self._share_group = ShareWorkload(self.cluster, places)
            self._share_group.begin()
        if self._has_expiry:
            ExpiryWorkload(self.cluster, places).begin()
        self._use_other_topics()
        if self.cluster.changes_voters:
            VoterOperator(self.cluster).begin()
        self._use_plainly(places)

    def _use_other_topics(self) -> None:
        if self._has_deletions:
            places_of_short = self._places(deletion_workload.TOPIC)
            self._deletions = DeletionWorkload(self.cluster, places_of_short)
            self._deletions.begin()
        if self._has_compactions:
            places_of_compacted = self._places(compaction_workload.TOPIC)
            self._compactions = CompactionWorkload(self.cluster, places_of_compacted)
            self._compactions.begin()
        if self._has_changes:
            places_of_changing = self._places(changing_topic.TOPIC)
            topics = {place.topic for place in self.administrator.places}
            self._changing = ChangingTopicWorkload(
                self.cluster, places_of_changing, self._changes, topics=topics
            )
            self._changing.begin()
        if self._has("reused name", _REUSED_NAMES):
            self._reused_name = ReusedNameWorkload(self.cluster, self._configs_of_topics())
            self._reused_name.begin()
        if self._service is not None:
            self._service.begin()
        if self._has_registry:
            self._registry = RegistryWorkload(self.cluster)
            self._registry.begin()

    def _use_plainly(self, places: list[Place]) -> None:
        near, far = self.cluster.client("client-1"), self.cluster.client("client-2")
        for number in range(self.profile.producers):
            idempotent = self.cluster.random.random() < 0.5
            client = self.cluster.random.choice((near, far))
            producer = Producer(client, f"p{number}", places, idempotent=idempotent)
            client.run(producer.run(self.profile.pace_ms))
            self._producers.append(producer)
        near.run(Consumer(near, "reader", places).run())
        if self.profile.racks:
            far.run(Consumer(far, "neighbour", places, rack="rack-2").run())
        for number in range(self.profile.committers):
            client = self.cluster.random.choice((near, far))
            committer = Committer(client, f"committer-{number}", f"marks-{number}", places)
            client.run(committer.run())
            self._groups.append(f"marks-{number}")
            self._members.append(committer)
        for number in range(self.profile.members):
            member = Member(far, f"member-{number}", _GROUP, places)
            far.run(member.run())
            self._members.append(member)
        if self.profile.members:
            self._groups.append(_GROUP)

    # -- the end -----------------------------------------------------------------------------------

    def _recover_partially(self) -> None:
        """Not where nodes are upgraded or voters change: who makes a majority is open there."""
        is_settled = self._releases is None and not self.cluster.changes_voters
        if self._has("partial recovery", _PARTIAL_RECOVERIES) and is_settled:
            PartialRecovery(self.cluster, self._places("t")).check()

    def _judge(self) -> None:
        for client in self.cluster.clients:
            client.is_stopping = True
        guarantee = self.cluster.watch.guarantee
        self.simulator.run_until_true(
            lambda: not guarantee.has_rot, _RECOVERY_US, "what has rotted is repaired"
        )
        judge = self.cluster.client("judge")
        self._judge_topics(judge)
        judge.run(check_commits(judge, self._groups, self._places("t")))
        self.simulator.run_until(self.simulator.now_us + 1000)
        operator = self.cluster.client("judge-operator")
        operator.run(self._operate(operator, judge))
        self._wait(judge, _RECOVERY_US, "every partition takes and serves records again")
        self._judge_groups()
        self.simulator.run_until_true(
            self.cluster.is_whole, _RECOVERY_US, "every replica is in sync again"
        )
        for node in self.cluster.nodes():
            for partition in node.partitions:
                self.cluster.watch.check_replica(node, partition)
            self.cluster.watch.replays.check_from_start(node)
        if self._changing is not None:
            self._changing.check_settings()
        self.cluster.check_epoch_starts()
        self.cluster.check_images()

    def _judge_topics(self, judge: Client) -> None:
        for place in self._places("t"):
            judge.run(self._judge_place(judge, place))
        if self._deletions is not None:
            for place in self._places(deletion_workload.TOPIC):
                judge.run(self._deletions.judge(judge, place))
        if self._compactions is not None:
            for place in self._places(compaction_workload.TOPIC):
                judge.run(self._compactions.judge(judge, place))
        if self._reused_name is not None:
            judge.run(self._reused_name.judge(judge))
        if self._changing is not None:
            judge.run(self._judge_changes(judge, self._changing))
        if self._registry is not None:
            judge.run(self._registry.judge(judge))

    def _judge_groups(self) -> None:
        if self._transactions is not None:
            self._transactions.judge()
        if self._consumer_group is not None:
            self._consumer_group.judge()
        if self._changing is not None:
            self._changing.judge()
        if self._mixed_group is not None:
            self._mixed_group.judge()
        if self._share_group is not None:
            self._share_group.judge()
        if self._service is not None:
            judge = self.cluster.client("service-judge")
            judge.run(self._service.judge(judge))
            self.simulator.run_until(self.simulator.now_us + 1000)
            self._wait(judge, _SERVICE_US, "the service has counted recent ticks")

    async def _operate(self, operator: Client, judge: Client) -> None:
        """Help the partitions that wait for an operator, those too whose move ends only now."""
        while not judge.is_done or self.cluster.waiting_places():
            for place in self.cluster.waiting_places() or ():
                await self.administrator.elect_unclean(operator, place)
            await operator.pause(500, 1000)

    async def _judge_changes(self, judge: Client, changing: ChangingTopicWorkload) -> None:
        await changing.finish(judge)
        for place in changing.places:
            await self._judge_place(judge, place)

    async def _judge_place(self, judge: Client, place: Place) -> None:
        """Write something new, read everything, and look for what was acknowledged."""
        producer = Producer(judge, f"judge-{place}", [place], idempotent=False)
        while not producer.acknowledged:
            await producer.produce(place)
        consumer = Consumer(judge, f"judge-{place}", [place])
        consumer.may_meet_rot = False
        acknowledged = self.cluster.history.acknowledged[place]
        while consumer.positions[place] <= max(acknowledged):
            try:
                await consumer.fetch(place)
            except TryAgain:
                judge.lost_leader(place)
                await judge.pause(50, 100)
        self.cluster.history.check_order(place)
        self.simulator.say(f"{place}: all {len(acknowledged)} acknowledged records are there")

    def _commits(self) -> int:
        commits = sum(member.commits for member in self._members)
        return commits + (0 if self._consumer_group is None else self._consumer_group.commits)

    def outcome(self) -> Outcome:
        cluster = self.cluster
        return Outcome(
            self.seed,
            self.profile.emphasis,
            self.simulator.trace_digest,
            self.simulator.now_us // 1000,
            self.simulator.events,
            cluster.watch.elections,
            sum(producer.acknowledged for producer in self._producers),
            cluster.history.reads,
            self._commits(),
            0 if self._transactions is None else self._transactions.transaction_history.committed,
            dict(self.simulator.reached),
        )


__all__ = ["Outcome", "Run", "Stuck", "Violation", "play", "prepare", "run_seed"]
