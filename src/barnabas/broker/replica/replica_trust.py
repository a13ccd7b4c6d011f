"""Whether a replica, as found on the disk, still has all records that it has acknowledged.

Five things are evidence against it: a hole or damage in its log, leader epochs and, after a power
loss, base offsets included; a log end before its checkpointed high watermark
(`high_watermark_checkpoint`), or damage to that file itself; a missing directory that this file
names; a power loss, if it acknowledged records that were not synced; and records that were suspect
when it was last used, and were not replaced (`log.state`). A topic that sets `flush.*` never
acknowledges what is not synced, and has a marker file in the log's directory that says so.

A replica in doubt leaves the in-sync set before this node is unfenced, and fetches what it lacks
from another. If it is the only replica, it continues with what it has, and consumers get an error
for what it lacks.
"""

import logging

from barnabas.broker.replica.high_watermark_checkpoint import IN_DOUBT, UNKNOWN
from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.log import Log

logger = logging.getLogger(__name__)

POWER_LOST = "the machine lost power, and what was acknowledged may not have been on the disk"
NEW_DIRECTORY = "its data directory is new"
ACKNOWLEDGED_UNKNOWN = "what it had acknowledged is unknown, and it was not closed"
DIRECTORY_GONE = "its directory is gone"
STILL_IN_DOUBT = "it lacked records at an earlier start, which the controller did not hear of"


def examine(
    log: Log,
    acknowledged: int,
    *,
    was_there: bool,
    power_lost: bool,
    is_directory_new: bool = False,
    leader_epoch: int | None = None,
) -> ReplicaDoubt:
    """Check a log that was just opened, of a partition that is in `leader_epoch`.

    It had acknowledged the records below `acknowledged`, which may be `IN_DOUBT` or `UNKNOWN`.
    `was_there`: its directory existed, and was not empty. `power_lost`: the machine may have lost
    unsynced writes, or the data directory is new: a new one is trusted as little, and only the
    reason differs.
    """
    suspect_from: int | None = None
    lacks_end = False
    doubts = []
    if log.lost_ranges:
        doubts.append(f"it has lost {log.lost_ranges}")
        suspect_from = log.lost_ranges.first_offset
    garbled = _garbled_from(log, leader_epoch)
    if garbled is not None:
        doubts.append(f"the leader epoch of its batch at offset {garbled} is damaged")
        suspect_from = garbled if suspect_from is None else min(suspect_from, garbled)
    if log.suspect_from is not None:
        doubts.append(f"its records from {log.suspect_from} on were suspect, and not replaced yet")
        known = log.suspect_from
        suspect_from = known if suspect_from is None else min(suspect_from, known)
        lacks_end = True
    if log.gap_from is not None:
        doubts.append(f"a power loss may have made the gap in it from offset {log.gap_from} on")
        suspect_from = log.gap_from if suspect_from is None else min(suspect_from, log.gap_from)
    end = log.log_end_offset
    expected = _expected_end(log, acknowledged)
    if expected > end:
        ended = f"it ends at {end}" if was_there else DIRECTORY_GONE
        doubts.append(f"{ended}, and it had acknowledged all below {expected}")
        suspect_from = end if suspect_from is None else suspect_from
        lacks_end = True
    if acknowledged == IN_DOUBT:
        doubts.append(STILL_IN_DOUBT if was_there else DIRECTORY_GONE)
        suspect_from = end if suspect_from is None else suspect_from
        lacks_end = True
    if acknowledged == UNKNOWN and (log.recovery is not None or not was_there):
        doubts.append(ACKNOWLEDGED_UNKNOWN)
        suspect_from = end if suspect_from is None else suspect_from
        lacks_end = True
    if power_lost and not log.is_flush_marked:
        doubts.append(NEW_DIRECTORY if is_directory_new and not was_there else POWER_LOST)
        flushed = log.flushed_offset
        suspect_from = flushed if suspect_from is None else min(suspect_from, flushed)
        lacks_end = True
    return ReplicaDoubt("; ".join(doubts), suspect_from, lacks_end)


def accept_alone(
    name: str, log: Log, acknowledged: int, now_ms: int, *, was_there: bool, power_lost: bool
) -> None:
    """There is no other replica: log what is lost, and make sure that consumers get an error for
    it.

    Raises `StorageError`.
    """
    log.suspects.clear()
    end = log.log_end_offset
    expected = _expected_end(log, acknowledged)
    if expected > end:
        if power_lost and not log.is_flush_marked:
            # As documented: a topic that does not set `flush.*` may lose its last records this way.
            logger.error(
                "%s lost offsets %d to %d when the machine lost power; their offsets are given "
                "to new records. Set flush.messages or flush.ms to keep them next time",
                name,
                end,
                expected - 1,
            )
        else:
            gone = "its end is gone" if was_there else DIRECTORY_GONE
            log.damage.mark_end_lost(expected, gone, now_ms)
    if log.lost_ranges:
        logger.error(
            "%s has lost %s. It has no other replica. Readers get CORRUPT_MESSAGE there; restore "
            "the files from a backup, let readers skip with damaged.records.skip=true, or accept "
            "the loss with `barnabas log repair --accept-loss`",
            name,
            log.lost_ranges,
        )


def _garbled_from(log: Log, leader_epoch: int | None) -> int | None:
    """The first batch whose leader epoch is not as it was: the CRC does not cover that."""
    impossible = None if leader_epoch is None else log.start_of_epoch_above(leader_epoch)
    found = [each for each in (impossible, log.suspect_epochs_from) if each is not None]
    return min(found, default=None)


def _expected_end(log: Log, acknowledged: int) -> int:
    return max(acknowledged, log.recovery.expected_end if log.recovery is not None else 0)
