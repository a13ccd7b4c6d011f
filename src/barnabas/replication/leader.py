"""A leader's view of its partition: in-sync set, progress of the replicas, what is committed.

What is agreed (replicas, in-sync set, epochs) comes from the metadata log by `assigned`, and from
nowhere else. What the leader wants changed is a proposal, which takes effect when the metadata log
brings it back. Until then the leader counts on the larger set: a follower that is proposed to join
may be in the set already, and be elected, without the leader knowing yet.

Invariant: no offset is committed that a member of the agreed set, or of the proposed one, lacks;
and none at all while there are eligible leaders outside of it, which would lack it. Likewise for
deletions: a client is told of none that a member of these sets, or an eligible leader, lacks.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from barnabas.replication.progress import UNKNOWN_EPOCH, FollowerProgress

BrokerEpochOf = Callable[[int], int | None]
"""The epoch of a broker's registration; None if it may not be in sync: fenced, or leaving."""


class IsrMember(NamedTuple):
    node_id: int
    broker_epoch: int
    """-1: not known."""


class IsrChange(NamedTuple):
    """What a leader asks the controller for."""

    isr: tuple[IsrMember, ...]
    leader_epoch: int
    partition_epoch: int
    """Of the state that it would change: it is void when anything has changed meanwhile."""
    is_recovering: bool = False
    """The leader was elected uncleanly, and not all replicas have followed it yet."""


class LeaderState:
    """Lives as long as one epoch of one leader."""

    __slots__ = (
        "_broker_epoch_of",
        "_deleted_upto",
        "_eligible",
        "_max_lag_ms",
        "_maximal_isr",
        "_node_id",
        "any_at_end",
        "epoch_start_offset",
        "followers",
        "is_alone",
        "is_recovering",
        "isr",
        "leader_epoch",
        "partition_epoch",
        "pending",
        "settling_until_ms",
    )

    def __init__(
        self,
        node_id: int,
        leader_epoch: int,
        epoch_start_offset: int,
        max_lag_ms: int,
        broker_epoch_of: BrokerEpochOf,
        settling_until_ms: int = 0,
        log_start_offset: int = 0,
    ) -> None:
        """`log_start_offset` is where the leader's log starts as this epoch begins."""
        self._node_id = node_id
        self._max_lag_ms = max_lag_ms
        self._broker_epoch_of = broker_epoch_of
        self.leader_epoch = leader_epoch
        self.epoch_start_offset = epoch_start_offset
        """Where the log ended when this epoch began."""
        self.settling_until_ms = settling_until_ms
        """Until then, batches may come again that were refused before this epoch; 0 afterwards."""
        self.partition_epoch = -1
        self.followers: dict[int, FollowerProgress] = {}
        self.isr: tuple[int, ...] = ()
        self.pending: IsrChange | None = None
        self._maximal_isr: frozenset[int] = frozenset()
        self.is_alone = False
        """There is no other replica, so that what is appended is committed."""
        self.is_recovering = False
        """It was elected uncleanly, and not all replicas have followed it yet."""
        self._eligible: frozenset[int] = frozenset()
        """Replicas outside of the in-sync set that have all that is committed."""
        self._deleted_upto = log_start_offset
        """Whoever joins has deleted the records below: clients were told that these are gone. What
        they were told in earlier epochs is gone from this leader's log, since it was electable."""
        self.any_at_end = False
        """Some follower may stand at the end of the log, and has to be told of when that moves."""

    def assigned(
        self,
        replicas: Iterable[int],
        isr: Iterable[int],
        partition_epoch: int,
        now_ms: int,
        *,
        is_recovering: bool = False,
        eligible: Iterable[int] = (),
    ) -> None:
        """Take over what is agreed; those who are `eligible` can be elected like members.

        Who is in the set counts as caught up when it comes in, and no longer once it has left: the
        controller may have removed it because its disk is full. Otherwise it would be waited for,
        and join again without a single record more.
        """
        before, self.isr = self.isr, tuple(isr)
        self.partition_epoch = partition_epoch
        self.is_recovering = is_recovering
        self._eligible = frozenset(eligible)
        if self.pending is not None and partition_epoch > self.pending.partition_epoch:
            self.pending = None
        known, self.followers = self.followers, {}
        for node_id in replicas:
            if node_id == self._node_id:
                continue
            progress = known.get(node_id) or FollowerProgress()
            self.followers[node_id] = progress
            if node_id in self.isr and node_id not in before:
                progress.caught_up_ms = max(progress.caught_up_ms, now_ms)
            elif node_id in before and node_id not in self.isr:
                progress.left()
        self.is_alone = not self.followers
        self._update_maximal_isr()

    def _update_maximal_isr(self) -> None:
        proposed = () if self.pending is None else self.pending.isr
        self._maximal_isr = frozenset(self.isr) | {member.node_id for member in proposed}

    @property
    def has_eligible(self) -> bool:
        """Whether replicas outside of the in-sync set have all that is committed: nothing else may
        be."""
        return bool(self._eligible)

    # -- progress ----------------------------------------------------------------------------------

    def fetched(
        self,
        node_id: int,
        broker_epoch: int,
        offset: int,
        log_start_offset: int,
        log_end_offset: int,
        now_ms: int,
    ) -> bool:
        """A follower has everything below `offset`. False if it is none, or another life of one.

        `log_end_offset` is the leader's own.
        """
        progress = self.followers.get(node_id)
        if progress is None or broker_epoch < progress.broker_epoch:
            return False
        if self._broker_epoch_of(node_id) not in (None, broker_epoch):
            return False
        progress.fetched(offset, log_start_offset, broker_epoch, log_end_offset, now_ms)
        self.any_at_end = self.any_at_end or offset >= log_end_offset
        return True

    def sends(self, node_id: int, offset: int) -> int:
        """A follower is sent records from `offset` on; returns how often it was in a row."""
        progress = self.followers.get(node_id)
        return 0 if progress is None else progress.sends(offset)

    def end_moves(self, log_end_offset: int, now_ms: int) -> None:
        """The leader appends behind `log_end_offset`: who stood there was caught up until now."""
        self.any_at_end = False
        for progress in self.followers.values():
            if progress.log_end_offset >= log_end_offset:
                progress.caught_up_ms = max(progress.caught_up_ms, now_ms)

    @property
    def waits_for_followers(self) -> bool:
        """Whether an append alone commits nothing."""
        return len(self._maximal_isr) > 1

    def high_watermark(self, own_end_offset: int, log_end_offset: int, now_ms: int) -> int:
        """Every record below is committed, perhaps more: the caller keeps the largest so far.

        `own_end_offset` is how far the leader itself has what it has, by its own standards. A
        follower that is about to join is waited for too: under load it would else never reach what
        is committed already, and never join.
        """
        if self.has_eligible:
            return 0
        end = own_end_offset
        for node_id, progress in self.followers.items():
            if progress.log_end_offset < end and (
                node_id in self._maximal_isr
                or (
                    progress.is_caught_up(log_end_offset, now_ms, self._max_lag_ms)
                    and self._is_eligible(node_id)
                )
            ):
                end = progress.log_end_offset
        return end

    def confirm_deletion(self, offset: int) -> bool:
        """Whether all who may be elected, and all who live, have deleted what is below `offset`.

        Then a client may be told so: no leader brings them back. Who may be elected is waited for
        even if it is down, as it may lead as soon as it is back. Any other replica that is down is
        not; it has to delete them to join.
        """
        electable = self._maximal_isr | self._eligible
        for node_id, progress in self.followers.items():
            counts = node_id in electable or self._broker_epoch_of(node_id) is not None
            if counts and progress.log_start_offset < offset:
                return False
        self._deleted_upto = max(offset, self._deleted_upto)
        return True

    @property
    def lowest_end(self) -> int:
        """The least log end of a live follower; a large number if there is none.

        Deletions from there on must stay visible in the leader's log.
        """
        ends = (
            progress.log_end_offset
            for node_id, progress in self.followers.items()
            if self._broker_epoch_of(node_id) is not None
        )
        return min(ends, default=2**63 - 1)

    def must_start_over(
        self, node_id: int, offset: int, log_start_offset: int, deletions_upto: int
    ) -> bool:
        """Whether a follower that fetches from `offset` on would not see all deletions.

        Compaction has removed tombstones and markers below `deletions_upto`. A follower that was
        down meanwhile still has what they deleted, and would bring it back when it leads: it has to
        copy the log from its start, `log_start_offset`. Whoever began there in this epoch and did
        not go back is sent what is left of the log. Who is in sync has the deletions.
        """
        progress = self.followers.get(node_id)
        if progress is None:
            return False
        goes_on = progress.deletions_upto == deletions_upto and offset >= progress.log_end_offset
        if not (
            offset <= log_start_offset or offset >= deletions_upto or node_id in self.isr or goes_on
        ):
            return True
        progress.deletions_upto = deletions_upto
        return False

    def replicas_with(self, offset: int) -> list[tuple[int, int]]:
        """The in-sync followers that have the record at `offset`, or will have it next.

        Each with the end of its log.
        """
        return [
            (node_id, progress.log_end_offset)
            for node_id, progress in self.followers.items()
            if node_id in self.isr
            and 0 <= progress.log_start_offset <= offset <= progress.log_end_offset
        ]

    # -- the in-sync set ---------------------------------------------------------------------------

    def _is_eligible(self, node_id: int) -> bool:
        """Whether it may be in sync: it lives, and its fetches were those of this life."""
        epoch = self._broker_epoch_of(node_id)
        return epoch is not None and epoch == self.followers[node_id].broker_epoch

    def can_join(self, node_id: int, high_watermark: int, log_end_offset: int, now_ms: int) -> bool:
        """Whether a follower keeps up, has all that is committed, and was led in this epoch.

        It also has deleted what clients were told is deleted.
        """
        progress = self.followers.get(node_id)
        return (
            progress is not None
            and node_id not in self._maximal_isr
            and progress.log_end_offset >= max(high_watermark, self.epoch_start_offset)
            and progress.log_start_offset >= self._deleted_upto
            and progress.is_caught_up(log_end_offset, now_ms, self._max_lag_ms)
            and self._is_eligible(node_id)
        )

    def is_change_due(self, high_watermark: int, log_end_offset: int, now_ms: int) -> bool:
        """Whether `propose` would propose."""
        wanted = self._wanted(high_watermark, log_end_offset, now_ms)
        return self.pending is None and (wanted != self.isr or self._has_recovered(wanted))

    def _has_recovered(self, wanted: Collection[int]) -> bool:
        return self.is_recovering and self.followers.keys() <= set(wanted)

    def propose(self, high_watermark: int, log_end_offset: int, now_ms: int) -> IsrChange | None:
        """The change of the in-sync set that is due; one is under way at a time."""
        if not self.is_change_due(high_watermark, log_end_offset, now_ms):
            return None
        wanted = self._wanted(high_watermark, log_end_offset, now_ms)
        isr = tuple(IsrMember(node_id, self._broker_epoch(node_id)) for node_id in wanted)
        is_recovering = self.is_recovering and not self._has_recovered(wanted)
        self.pending = IsrChange(isr, self.leader_epoch, self.partition_epoch, is_recovering)
        self._update_maximal_isr()
        return self.pending

    def _wanted(self, high_watermark: int, log_end_offset: int, now_ms: int) -> tuple[int, ...]:
        stay = (
            node_id
            for node_id in self.isr
            if node_id not in self.followers
            or (
                self._broker_epoch_of(node_id) is not None  # else it is gone: do not wait
                and self.followers[node_id].is_caught_up(log_end_offset, now_ms, self._max_lag_ms)
            )
        )
        join = (
            node_id
            for node_id in self.followers
            if self.can_join(node_id, high_watermark, log_end_offset, now_ms)
        )
        return (*stay, *join)

    def _broker_epoch(self, node_id: int) -> int:
        """The registration that the proposal names: the one that fetched, or the current one.

        The latter can only be about one that stays. If it had come back without its records, it
        would have left the set, and the proposal be refused for its partition epoch.
        """
        progress = self.followers.get(node_id)
        if progress is not None and progress.broker_epoch != UNKNOWN_EPOCH:
            return progress.broker_epoch
        epoch = self._broker_epoch_of(node_id)
        return UNKNOWN_EPOCH if epoch is None else epoch

    def refused(self, change: IsrChange) -> None:
        """The controller has turned the proposal down, surely and for good."""
        if self.pending == change:
            self.pending = None
            self._update_maximal_isr()
