"""The product with one rule broken at a time."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

from barnabas.broker.control import broker_lifecycle
from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.disk_trust import DiskTrust
from barnabas.broker.control.metadata_follower import MetadataFollower
from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.follower import follower_log, replica_fetcher, replica_session
from barnabas.broker.follower.replica_session import Followed
from barnabas.broker.net.peer_authorization import PeerAuthorization
from barnabas.broker.quorum.writer import Writer
from barnabas.broker.replica import replica_role
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.controller import (
    leader_election,
    liveness,
    lost_replicas,
    partition_changes,
    registrations,
)
from barnabas.log import fetch_validation
from barnabas.log.directory import data_directory
from barnabas.log.epoch_repair import EpochRepair
from barnabas.log.log import Log
from barnabas.log.offset_assignment import Batches
from barnabas.log.producers.state import ProducerState
from barnabas.log.recovery.recovery import Recovery
from barnabas.log.segment.file_names import LOG_SUFFIX, offset_in
from barnabas.metadata.image import MetadataImage, PartitionImage
from barnabas.raft import Write, election
from barnabas.records.batch import Buffer, parse_header
from barnabas.replication import LeaderState
from barnabas.replication.progress import FollowerProgress
from barnabas.sim import run
from barnabas.sim.profile import NOTICED, SCRUBBED, Profile, draw_profile
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from tests.sim import (
    change_variants,
    client_variants,
    compaction_variants,
    consumer_group_variants,
    copies_variants,
    cut_variants,
    deletion_variants,
    expiry_variants,
    log_variants,
    mixed_group_variants,
    rare_variants,
    registry_variants,
    release_variants,
    replay_variants,
    reused_name_variants,
    schedules,
    service_variants,
    share_variants,
    transaction_variants,
    voter_variants,
)
from tests.sim.variant import Variant

# -- the quorum ------------------------------------------------------------------------------------


def _durable_at_once(self: Writer, writes: list[Write]) -> None:
    original_add(self, writes)
    self._loop.call_soon(self._on_durable, writes[-1].sequence)


original_add = Writer.add


# -- the controller --------------------------------------------------------------------------------


def _anybody_leads(image: MetadataImage, partition: PartitionImage) -> int:
    for candidate in (partition.leader, *partition.replicas):
        if image.is_active(candidate):
            return candidate
    return -1


def _outsider_in_sync(
    image: MetadataImage, partition: PartitionImage, behind: Collection[int]
) -> PartitionImage:
    leader = _anybody_leads(image, partition)
    if leader == partition.leader or leader < 0:
        return original_led(image, partition, behind)
    return replace(partition, leader=leader, isr=[*{leader, *partition.isr}])


original_led = leader_election.elect_leader


def _controller_shrinks(
    image: MetadataImage, partition: PartitionImage, behind: Collection[int]
) -> PartitionImage:
    led = original_led(image, partition, behind)
    if led.leader < 0:
        return led
    isr = [member for member in led.isr if member == led.leader or image.is_active(member)]
    return led.led_by(led.leader, isr)


# -- replication -----------------------------------------------------------------------------------


def _majority(self: LeaderState, own_end_offset: int, _end: int, _now_ms: int) -> int:
    ends = sorted([own_end_offset, *(one.log_end_offset for one in self.followers.values())])
    return max(0, ends[(len(ends) - 1) // 2])


def _leader_alone(_self: LeaderState, own_end_offset: int, _end: int, _now_ms: int) -> int:
    return own_end_offset


def _agreed_only(self: LeaderState, own_end_offset: int, _end: int, _now_ms: int) -> int:
    others = (self.followers[one].log_end_offset for one in self.isr if one in self.followers)
    return min([own_end_offset, *others])


def _slow_moves(random: Random, emphasis: str | None) -> Profile:
    """Leaders that often fall, and a network so slow that much is decided before they know it."""
    return replace(
        draw_profile(random, emphasis),
        nodes=4,
        producers=3,
        members=0,
        committers=0,
        faulty_ms=12_000,
        fault_every_ms=400,
        faults={"kill": 2, "kill_leader": 5, "move_replicas": 3},
        delays_us=(5_000, 80_000),
        job_delays_us=(100, 1_000),
        restarts_ms=(1, 50),
        pace_ms=(0, 20),
    )


def _rot_and_moves(random: Random, emphasis: str | None) -> Profile:
    """Replicas that rot for a while, and new ones that fetch everything from them."""
    return replace(
        draw_profile(random, emphasis),
        nodes=4,
        replication_factor=3,
        fault_every_ms=200,
        faults={"rot": 6, "move_replicas": 4},
        settings=SCRUBBED | {"log.scrub.interval.ms": "3000"},
    )


def _lives(self: LeaderState, node_id: int) -> bool:
    return self._broker_epoch_of(node_id) is not None


def _is_active(image: MetadataImage, broker_id: int, _broker_epoch: int | None) -> bool:
    return image.is_active(broker_id)


def _garbled_epochs(random: Random, emphasis: str | None) -> Profile:
    """Replicas that come back with damaged leader epochs, and often lead."""
    return replace(
        draw_profile(random, emphasis),
        nodes=3,
        replication_factor=3,
        faults={"garble_epoch": 6, "kill_leader": 2},
        settings=NOTICED,
    )


def _any_epoch(records: memoryview, log_end_offset: int, *_: int) -> tuple[memoryview, Batches]:
    return original_checked(records, log_end_offset)


original_checked = fetch_validation.checked_batches


def _as_it_says(batch: Buffer) -> int:
    return parse_header(batch).crc


def _sent_is_had(
    self: FollowerProgress,
    offset: int,
    log_start_offset: int,
    broker_epoch: int,
    leader_end_offset: int,
    now_ms: int,
) -> None:
    original_fetched(
        self,
        max(offset, leader_end_offset),
        log_start_offset,
        broker_epoch,
        leader_end_offset,
        now_ms,
    )


original_fetched = FollowerProgress.fetched


def _committed_at_once(
    _self: Partition, _next_offset: int, _timeout_ms: int | None, done: Callable[[ErrorCode], None]
) -> None:
    done(ErrorCode.NONE)


def _cut_to_the_high_watermark(self: Followed, partition: Partition) -> None:
    partition.log.truncate_to(partition.high_watermark)
    original_followed(self, partition)


original_followed = Followed.__init__


class _Always:
    """An attribute that is true, whatever it is set to."""

    def __get__(self, _instance: object, _owner: type | None = None) -> bool:
        return True

    def __set__(self, _instance: object, _value: object) -> None:
        return


class _NoEpochs(replica_session.FetchPartition):
    """Says nothing about the epoch of the last record, so that nothing is compared.

    And that it has no records, for who has some must say of which epoch.
    """

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        silent = {"last_fetched_epoch": -1, "log_start_offset": fields["fetch_offset"]}
        super().__init__(*arguments, **(fields | silent))


def _never_held(self: MetadataFollower, *arguments: Any) -> None:
    original_follower(self, *arguments)
    self.is_held = False


original_follower = MetadataFollower.__init__


def _trust(self: DiskTrust) -> tuple[int, bool]:
    return original_read(replace(self, boot_id=_written_boot_id(self)))


def _written_boot_id(trust: DiskTrust) -> str:
    if not trust.disk.exists(trust._path):
        return trust.boot_id
    text = trust.disk.read_file(trust._path).decode()
    return dict(line.split("=", 1) for line in text.splitlines())["boot.id"]


original_read = DiskTrust.read


def _without_eligible(self: LeaderState, *arguments: Any, **options: Any) -> None:
    original_assigned(self, *arguments, **(options | {"eligible": ()}))


original_assigned = LeaderState.assigned


def _first_file(names: Iterable[str]) -> int:
    found = (offset_in(name, LOG_SUFFIX) for name in names)
    return min((offset for offset in found if offset is not None), default=0)


def _lost_or_not(*arguments: Any, **_: Any) -> None:
    partition_changes.change_partition(*arguments)


def _without_clock(*arguments: Any, **fields: Any) -> BrokerHeartbeatRequest:
    """As of an earlier release."""
    return BrokerHeartbeatRequest(*arguments, **(fields | {"clock_ms": -1}))


_unflushed_end = property(lambda partition: partition.log.log_end_offset)
"""In place of what is flushed, for topics that set `flush.*`."""

_EXAMINERS = (replica_role, replica_fetcher)

VARIANTS: dict[str, Variant] = {
    "take anybody for a node": Variant(
        [patch.object(PeerAuthorization, "may_send", staticmethod(lambda *_: True))], "forged"
    ),
    "commit metadata before it is synced": Variant(
        [patch.object(Writer, "add", _durable_at_once)], "power"
    ),
    "forget the vote": Variant(
        [patch.object(election, "may_vote", election.is_complete)], "elections"
    ),
    "elect from outside the in-sync set": Variant(
        [patch.object(partition_changes, "elect_leader", _outsider_in_sync)], "kills"
    ),
    "take replicas out of the set for a leader that may be dead": Variant(
        [patch.object(partition_changes, "elect_leader", _controller_shrinks)], "power"
    ),
    "trust a disk that lost its tail": Variant([patch.object(DiskTrust, "read", _trust)], "power"),
    "acknowledge before the flush when all lose power": Variant(
        [patch.object(Partition, "_own_end_offset", _unflushed_end)], "blackout"
    ),
    "leave a replica in sync that has lost something": Variant(
        [patch.object(lost_replicas, "_lose", lambda *_: None)], "power"
    ),
    "take a wiped disk for the same": Variant(
        [
            patch.object(registrations, "_is_wiped", lambda *_: False),
            patch.object(registrations, "_is_current", lambda *_: True),
            patch.object(BrokerLifecycle, "is_sure", _Always(), create=True),
        ],
        "power",
    ),
    "commit what eligible leaders lack": Variant(
        [patch.object(LeaderState, "assigned", _without_eligible)], "disks"
    ),
    "keep a replica eligible that has lost something": Variant(
        [patch.object(liveness, "change_partition", _lost_or_not)], "disks"
    ),
    "commit what a majority has": Variant(
        [patch.object(LeaderState, "high_watermark", _majority)], "kills"
    ),
    "commit what the leader has": Variant(
        [patch.object(LeaderState, "high_watermark", _leader_alone)], "kills"
    ),
    "commit without those about to join": Variant(
        [
            patch.object(LeaderState, "high_watermark", _agreed_only),
            patch.object(run, "draw_profile", _slow_moves),
        ],
        "moves",
    ),
    "take what was sent to a follower for what it has": Variant(
        [patch.object(FollowerProgress, "fetched", _sent_is_had)], "kills"
    ),
    "acknowledge before the high watermark": Variant(
        [patch.object(Partition, "when_committed", _committed_at_once)], "kills"
    ),
    "truncate to the high watermark": Variant(
        [
            patch.object(Followed, "__init__", _cut_to_the_high_watermark),
            patch.object(replica_session, "FetchPartition", _NoEpochs),
        ],
        "kills",
    ),
    "never truncate": Variant(
        [patch.object(replica_session, "FetchPartition", _NoEpochs)], "network"
    ),
    "let a follower of an earlier life join": Variant(
        [
            patch.object(LeaderState, "_is_eligible", _lives),
            patch("barnabas.controller.isr_changes._is_eligible", _is_active),
        ],
        schedule=schedules.return_unheard,
    ),
    "serve group commits that are not replicated": Variant(
        [patch.object(CoordinatorShard, "_is_committed", lambda *_: True)], "kills"
    ),
    "act on old metadata before being registered": Variant(
        [
            patch.object(MetadataFollower, "__init__", _never_held),
            # Each of the two rules covers for the other: who is in doubt does not lead, either.
            patch.object(ReplicaDoubt, "must_lead", _Always()),
        ],
        "power",
    ),
    "forget what idempotent producers have sent": Variant(
        [patch.object(ProducerState, "find_duplicate", lambda *_: None)], "network"
    ),
    "take a log with a hole for whole": Variant(
        [
            patch.object(Recovery, "_follows_a_loss", lambda *_: False),
            patch.object(BrokerLifecycle, "is_sure", _Always(), create=True),
        ],
        "power",
    ),
    "take a log that has lost its first segment for one that begins later": Variant(
        [patch("barnabas.log.recovery.recovery.marked_start", _first_file)], "damage"
    ),
    "trust every directory": Variant(
        [patch("barnabas.broker.replica.replica_opener.examine", lambda *_, **__: ReplicaDoubt())],
        "damage",
    ),
    "store what a leader has sent with a wrong checksum": Variant(
        [
            patch.object(fetch_validation, "compute_crc", _as_it_says),
            patch.object(run, "draw_profile", _rot_and_moves),
        ],
        "moves",
    ),
    "believe every leader epoch that is stored": Variant(
        [
            # Each of these covers for the others.
            patch.object(Recovery, "_settle_epochs", lambda *_: None),
            patch.object(EpochRepair, "adopt", lambda *_: 0),
            patch.object(follower_log, "checked_batches", _any_epoch),
            *(patch.object(each, "examine_epochs", lambda *_: None) for each in _EXAMINERS),
            patch.object(run, "draw_profile", _garbled_epochs),
        ],
        "damage",
    ),
    "store what a leader has sent with an epoch that can not be": Variant(
        [
            patch.object(follower_log, "checked_batches", _any_epoch),
            patch.object(run, "draw_profile", _rot_and_moves),
        ],
        "moves",
    ),
    "believe a log after a loss of power that was not flushed": Variant(
        [patch.object(Log, "is_flush_marked", _Always())], "power"
    ),
    "leave the data directory's own name unsynced": Variant(
        [patch.object(data_directory, "_sync_name", lambda *_: None)], "power"
    ),
    **copies_variants.VARIANTS,
    **log_variants.VARIANTS,
    **rare_variants.VARIANTS,
    **transaction_variants.VARIANTS,
    **replay_variants.VARIANTS,
    **consumer_group_variants.VARIANTS,
    **share_variants.VARIANTS,
    **release_variants.VARIANTS,
    **client_variants.VARIANTS,
    **deletion_variants.VARIANTS,
    **reused_name_variants.VARIANTS,
    **compaction_variants.VARIANTS,
    **cut_variants.VARIANTS,
    **change_variants.VARIANTS,
    **voter_variants.VARIANTS,
    **mixed_group_variants.VARIANTS,
    **service_variants.VARIANTS,
    **registry_variants.VARIANTS,
    **expiry_variants.VARIANTS,
}


_ADDED = (
    "_DELETIONS",
    "_REUSED_NAMES",
    "_COMPACTIONS",
    "_LONG_CUTS",
    "_CHANGES",
    "_VOTER_CHANGES",
    "_MIXED_GROUPS",
    "_SERVICES",
    "_REGISTRIES",
    "_EXPIRY",
)
"""Workloads that only rules about them have: the seeds of the others are the same runs without."""


@contextmanager
def broken(name: str) -> Iterator[None]:
    with ExitStack() as stack:
        for share in _ADDED:
            stack.enter_context(patch.object(run, share, 0.0))
        if name not in expiry_variants.VARIANTS:  # nor have heartbeats the size that makes others
            stack.enter_context(
                patch.object(broker_lifecycle, "BrokerHeartbeatRequest", _without_clock)
            )
        for one in VARIANTS[name].patches:
            stack.enter_context(one)
        yield
