"""Raft with one rule broken, for each rule that safety rests on."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from barnabas.raft import (
    ElectionState,
    Envelope,
    OffsetAndEpoch,
    Recovered,
    fetching,
    membership,
    reads,
    replication,
)
from barnabas.raft import election as elections
from barnabas.raft.messages import FetchRequest
from barnabas.raft.roles import Leader, ReadRound
from barnabas.raft.state import RaftState
from barnabas.raft.writes import Writes
from tests.raft.disk import Disk
from tests.raft.replica import Replica

Patch = tuple[object, str, Callable[..., object]]


def _always(*_arguments: object) -> bool:
    return True


def _never(*_arguments: object) -> bool:
    return False


def _send_at_once(writes: Writes, envelope: Envelope) -> None:
    writes._held.append((0, envelope))


def _recover_without_vote(disk: Disk) -> Recovered:
    return Recovered(ElectionState(disk.election.epoch), disk.snapshot, tuple(disk.entries))


def _recover_without_epoch(disk: Disk) -> Recovered:
    return Recovered(ElectionState(), disk.snapshot, tuple(disk.entries))


def _own_epoch_is_committed(state: RaftState, role: Leader) -> bool:
    return state.high_watermark > role.epoch_start_offset


def _whole_log(state: RaftState) -> int:
    return state.log.end_offset


def _reaches_so_far(state: RaftState, request: FetchRequest) -> bool:
    return state.log.start_offset <= request.fetch_offset <= state.log.end_offset


def _truncate_to_high_watermark(state: RaftState, _leaders: OffsetAndEpoch) -> None:
    state.log.truncate(state.high_watermark)
    state.writes.truncated(state.high_watermark)


def _ask_before_the_read(**fields: object) -> ReadRound:
    return ReadRound(**{**fields, "first_correlation_id": 0})  # type: ignore[arg-type]


def _wipe_and_keep_the_name(replica: Replica, _number: int) -> None:
    replica.raft = None
    replica.disk = Disk()


VARIANTS: dict[str, list[Patch]] = {
    "vote before it is durable": [(Writes, "hold", _send_at_once)],
    "forget the vote": [(Disk, "recover", _recover_without_vote)],
    "forget the epoch": [(Disk, "recover", _recover_without_epoch)],
    "vote for an incomplete log": [(elections, "is_complete", _always)],
    "commit an entry of an earlier epoch by counting": [
        (replication, "is_of_own_epoch", _always),
        (membership, "may_change", _own_epoch_is_committed),
        (reads, "may_read", _own_epoch_is_committed),
    ],
    "acknowledge before it is durable": [(fetching, "may_acknowledge", _always)],
    "lead on entries that are not durable": [(replication, "own_acknowledgement", _whole_log)],
    "take a log of the same length for the same log": [
        (replication, "is_same_log", _reaches_so_far)
    ],
    "truncate to the high watermark": [
        (fetching, "_truncate_to_leaders", _truncate_to_high_watermark)
    ],
    "change voters twice at once": [(membership, "is_change_pending", _never)],
    "change voters before the own epoch is committed": [(membership, "may_change", _always)],
    "take a wiped voter for itself": [(Replica, "wipe", _wipe_and_keep_the_name)],
    "read without asking a majority": [(reads, "is_confirmed", _always)],
    "read on answers to earlier questions": [(reads, "ReadRound", _ask_before_the_read)],
    "read before the own epoch is committed": [(reads, "may_read", _always)],
}


@contextmanager
def broken(name: str) -> Iterator[None]:
    with ExitStack() as stack:
        for target, attribute, replacement in VARIANTS[name]:
            stack.enter_context(patch.object(target, attribute, replacement))
        yield
