"""Whether a replica, as it was found on the disk, still has all that it has acknowledged.

Three things tell against it: a hole or damage in its log, an end before its high watermark of then
(`high_watermarks`), and a loss of power, if it acknowledged what was not on the disk. A topic that
sets `flush.*` does not, and leaves a mark of that in the log's directory.

A replica in doubt leaves the in-sync set before this node counts again, and fetches from another
what it lacks. The only replica there is goes on with what it has; readers are told what it lacks.
"""

import logging

from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.log import Log

logger = logging.getLogger(__name__)

POWER_LOST = "the machine lost power, and what was acknowledged may not have been on the disk"


def examine(log: Log, acknowledged: int, *, was_there: bool, power_lost: bool) -> ReplicaDoubt:
    """Look at a log that was just opened.

    It had acknowledged what is below `acknowledged`. `was_there`: its directory was. `power_lost`:
    the machine may have lost what was not synced.
    """
    suspect_from: int | None = None
    lacks_end = False
    doubts = []
    if log.lost_ranges:
        doubts.append(f"it has lost {log.lost_ranges}")
        suspect_from = log.lost_ranges.first_offset
    end = log.log_end_offset
    expected = _expected_end(log, acknowledged)
    if expected > end:
        ended = f"it ends at {end}" if was_there else "its directory is gone"
        doubts.append(f"{ended}, and it had acknowledged all below {expected}")
        suspect_from = end if suspect_from is None else suspect_from
        lacks_end = True
    if power_lost and not log.is_flush_marked:
        doubts.append(POWER_LOST)
        flushed = log.flushed_offset
        suspect_from = flushed if suspect_from is None else min(suspect_from, flushed)
        lacks_end = True
    return ReplicaDoubt("; ".join(doubts), suspect_from, lacks_end)


def accept_alone(
    name: str, log: Log, acknowledged: int, now_ms: int, *, was_there: bool, power_lost: bool
) -> None:
    """There is no other replica: say what is lost, and see to it that readers are told.

    Raises `StorageError`.
    """
    end = log.log_end_offset
    expected = _expected_end(log, acknowledged)
    if expected > end:
        if power_lost and not log.is_flush_marked:
            # As announced: a topic that does not set `flush.*` may lose its last records so.
            logger.error(
                "%s lost offsets %d to %d when the machine lost power; their offsets are given "
                "to new records. Set flush.messages or flush.ms to keep them next time",
                name,
                end,
                expected - 1,
            )
        else:
            gone = "its end is gone" if was_there else "its directory is gone"
            log.damage.mark_end_lost(expected, gone, now_ms)
    if log.lost_ranges:
        logger.error(
            "%s has lost %s. It has no other replica. Readers get CORRUPT_MESSAGE there; restore "
            "the files from a backup, let readers skip with damaged.records.skip=true, or accept "
            "the loss with `barnabas log repair --accept-loss`",
            name,
            log.lost_ranges,
        )


def _expected_end(log: Log, acknowledged: int) -> int:
    return max(acknowledged, log.recovery.expected_end if log.recovery is not None else 0)
