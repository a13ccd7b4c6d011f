"""Exactly-once streams: prepared transactions, and one recorded decision per batch.

    in tasks       claim the query for this run, unless it is claimed        commit_log
                   write in a transaction of the task, and leave it prepared
    in the driver  decide: one record says that the batch commits, and names its transactions
                   commit each of them

Before the decision a batch does not count: after a failure Spark runs it again, in new transactions
that replace the old ones. After the decision it counts: when Spark runs it again, tasks find it
decided and write nothing, and the driver commits what is left. Transactions have no timeout, so it
does not matter how long a restart takes.

A run that seems dead may be alive. So a run has to own the query before it touches transactions of
an earlier run, and a run that no longer owns the query can't decide. Two attempts at the same task
have different transactional ids, so that one can't end what the other has prepared and Spark has
chosen. (An attempt that Spark has given up, and that wakes up in a later batch, may still do so;
then that batch is refused, and written again.)

With a timeout the same is done in ordinary transactions, for brokers without two-phase commit. If
it expires before the decision, the batch is refused and written again. If it expires after the
decision, because the query was down for longer, part of the batch is lost, which is an error.

Transactions that no run will end are rolled back by the driver: with the first batch that a run
decides, when a task was retried, and every few batches for attempts that lost a race.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic
from typing import NamedTuple

from barnabas.client.admin.transactions import fence_producer, list_transactions
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.producer.prepared_transactions import (
    PreparedTransaction,
    end_prepared,
    still_open,
)
from barnabas.errors import BarnabasError, BrokerError, TransactionAborted
from barnabas.spark.sink.commit_log import (
    PREFIX,
    UNSETTLED,
    CommitLog,
    KnownState,
    QueryState,
)
from barnabas.wire.errors import ErrorCode

_SWEEP_EVERY = 10
_CLAIM_PATIENCE_S = 2.0
_CLAIM_PAUSE_S = 0.05
_CHANGE_TIMEOUT_S = 60.0


class RunSuperseded(BarnabasError):  # noqa: N818 - its name says what is wrong
    """The query was started again elsewhere, and this run of it must stop."""


class DecidedAndLost(BarnabasError):  # noqa: N818 - its name says what is wrong
    """A batch was decided, and some of its transactions no longer exist."""


class CheckpointTooOld(BarnabasError):  # noqa: N818 - its name says what is wrong
    """Spark starts with a batch before the last one that was committed."""


class Task(NamedTuple):
    """Where in which query a task runs."""

    query_id: str
    run_id: str
    batch_id: int
    partition_id: int
    attempt: int
    """Distinguishes attempts at the same task, which may run at the same time."""

    @property
    def transactional_id(self) -> str:
        return f"{PREFIX}{self.query_id}-{self.partition_id}-{self.attempt}"


class Written(NamedTuple):
    """What a task passes to the driver."""

    task: Task
    known: KnownState
    """The state of the query when this run claimed it, or later."""
    prepared: PreparedTransaction | None


# -- tasks -----------------------------------------------------------------------------------------


async def claim(cluster: ClusterClient, task: Task) -> KnownState:
    """Make sure that the query belongs to the task's run; returns its state.

    Raises `RunSuperseded`. If many tasks start at once, the first one does it and the others wait.
    """
    log = CommitLog(cluster, task.query_id)
    began = monotonic()
    while True:
        known = await log.read()
        if known.state is not None and known.state.run == task.run_id:
            return known
        waited_s = monotonic() - began
        if task.partition_id != 0 and waited_s < _CLAIM_PATIENCE_S:
            await asyncio.sleep(_CLAIM_PAUSE_S)
            continue
        try:
            await log.change(lambda state: _claimed(state, task))
        except UNSETTLED as error:
            await _pause_after(error, began)


async def _pause_after(error: BarnabasError, began: float) -> None:
    """Let a change be repeated that is `UNSETTLED`, unless it fails for too long or for good."""
    if isinstance(error, TransactionAborted) and not error.retriable:
        raise error
    if monotonic() - began > _CHANGE_TIMEOUT_S:
        raise error
    await asyncio.sleep(_CLAIM_PAUSE_S * random.uniform(1, 5))  # noqa: S311 - no secret


def _claimed(state: QueryState | None, task: Task) -> QueryState | None:
    if state is None:
        return QueryState(task.run_id)
    if state.run == task.run_id:
        return None
    if task.run_id in state.past_runs:
        raise _superseded(task)
    return state.claimed_by(task.run_id)


def is_decided(state: QueryState | None, task: Task) -> bool:
    """Whether the task's batch is committed, or will be, without being written again.

    Spark repeats the last batch and never one before it, unless its checkpoint was replaced by an
    older one. Then a batch of the same number may have other records: this is an error.
    """
    if state is None or state.batch < task.batch_id:
        return False
    if state.batch > task.batch_id:
        raise CheckpointTooOld(
            f"query {task.query_id} is at batch {task.batch_id}, but batch {state.batch} is "
            "already committed: its checkpoint is older than its output. Start a new query with a "
            "new checkpoint, from the offsets that you want"
        )
    return True


# -- the driver ------------------------------------------------------------------------------------


async def commit_batch(
    cluster: ClusterClient, written: list[Written], *, timeout_ms: int | None = None
) -> None:
    """Decide that a batch counts, unless that is done, and commit its transactions.

    It may be repeated, in any process, until it succeeds.
    """
    task = written[0].task
    log = CommitLog(cluster, task.query_id, _latest(written))
    prepared = sorted(each.prepared for each in written if each.prepared is not None)
    state = (await log.read()).state
    if not prepared and (state is None or state.batch != task.batch_id):
        return  # nothing was written, now or before
    is_first = state is not None and state.decided_by != task.run_id

    async def check() -> None:
        if not is_decided((await log.read()).state, task):
            await _check_open(cluster, prepared, task)

    state = await _change(log, lambda found: _decided(found, task, prepared), check)
    assert state is not None
    await _commit_all(cluster, state, timeout_ms)
    decided = set(state.transactions)
    await _roll_back(cluster, (each for each in prepared if each not in decided))
    retried = any(each.task.attempt for each in written)
    if is_first or retried or task.batch_id % _SWEEP_EVERY == 0:
        await _sweep(cluster, task.query_id)


async def abort_batch(cluster: ClusterClient, written: list[Written]) -> None:
    """A batch has failed: roll back what was written, unless it counts already."""
    prepared = [each.prepared for each in written if each.prepared is not None]
    if not prepared:
        return
    task = written[0].task
    log = CommitLog(cluster, task.query_id, _latest(written))
    # An empty change still fences a run that may be deciding, and settles what is uncertain.
    state = await _change(log, lambda _: None)
    decided = () if state is None else state.transactions
    await _roll_back(cluster, (each for each in prepared if each not in decided))


async def _change(
    log: CommitLog,
    decide: Callable[[QueryState | None], QueryState | None],
    check: Callable[[], Awaitable[None]] | None = None,
) -> QueryState | None:
    """Change the query's state; repeated while it is `UNSETTLED`.

    A broker that is killed leaves it open whether the change has happened. A late one of a run that
    was superseded fences it, and so does another change of the same run. What `check` looks at may
    be otherwise by then, so that it is called before each attempt; what it raises is final.
    """
    began = monotonic()
    while True:
        if check is not None:
            await check()
        try:
            return await log.change(decide)
        except UNSETTLED as error:
            await _pause_after(error, began)


def _latest(written: list[Written]) -> KnownState:
    return max((each.known for each in written), key=lambda known: known.offset)


def _decided(
    state: QueryState | None, task: Task, prepared: list[PreparedTransaction]
) -> QueryState | None:
    if state is None or state.run != task.run_id:
        raise _superseded(task)
    if is_decided(state, task):
        return None
    return state.with_batch(task.batch_id, prepared)


async def _check_open(
    cluster: ClusterClient, prepared: list[PreparedTransaction], task: Task
) -> None:
    """Raise if some can no longer be committed: the batch has to be written again."""
    gone = set(prepared).difference(await still_open(cluster, prepared))
    if gone:
        names = ", ".join(sorted(each.transactional_id for each in gone))
        raise TransactionAborted(
            f"batch {task.batch_id} cannot be committed: its transactions {names} were rolled "
            "back, by their timeout or by hand. It will be written again"
        )


async def _commit_all(cluster: ClusterClient, state: QueryState, timeout_ms: int | None) -> None:
    outcomes = await asyncio.gather(
        *(end_prepared(cluster, each, committed=True) for each in state.transactions),
        return_exceptions=True,
    )
    for prepared, outcome in zip(state.transactions, outcomes, strict=True):
        if outcome is None:
            continue
        if isinstance(outcome, BrokerError) and not outcome.retriable:
            if timeout_ms is None and outcome.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING:
                continue  # committed so long ago that its id has expired: ids of open ones don't
            raise DecidedAndLost(
                f"batch {state.batch} was decided to be committed, but transaction "
                f"{prepared.transactional_id} was rolled back meanwhile, by its timeout or by "
                f"hand ({outcome}). Its records are lost; the rest of the batch is committed"
            ) from outcome
        raise outcome


async def _roll_back(cluster: ClusterClient, prepared: Iterable[PreparedTransaction]) -> None:
    outcomes = await asyncio.gather(
        *(end_prepared(cluster, each, committed=False) for each in prepared),
        return_exceptions=True,
    )
    for outcome in outcomes:
        is_gone = isinstance(outcome, BrokerError) and not outcome.retriable
        if isinstance(outcome, BaseException) and not is_gone:
            raise outcome


async def _sweep(cluster: ClusterClient, query_id: str) -> None:
    """Roll back open transactions of attempts that Spark did not choose."""
    of_task = re.compile(re.escape(f"{PREFIX}{query_id}-") + r"\d+-\d+")
    for each in await list_transactions(cluster, states=["Ongoing"]):
        if of_task.fullmatch(each.transactional_id):
            await fence_producer(cluster, each.transactional_id)


def _superseded(task: Task) -> RunSuperseded:
    return RunSuperseded(
        f"query {task.query_id} was started again elsewhere: this run ({task.run_id}) stops, and "
        "its unfinished batch is discarded"
    )
