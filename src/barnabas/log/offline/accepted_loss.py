"""Accepting the loss of records in a log that no broker has open: `barnabas log repair`."""

from barnabas.log.config import LogConfig
from barnabas.log.errors import storage_errors
from barnabas.log.log import Log
from barnabas.log.lost_ranges import LostRange
from barnabas.log.state import read_state_and_losses
from barnabas.log.storage import Disk


def lost_ranges(disk: Disk, directory: str) -> list[LostRange]:
    """The ranges that the log has lost, as far as its broker has found out. Raises
    `StorageError`."""
    with storage_errors(f"cannot read {directory}"):
        _, losses = read_state_and_losses(disk, directory)
    return list(losses.lost_ranges)


def accept_loss(disk: Disk, directory: str, now_ms: int) -> list[LostRange]:
    """Put empty batches in the place of lost records; returns the ranges.

    The caller holds the lock of the data directory. Raises `StorageError`.
    """
    if not lost_ranges(disk, directory):
        return []
    with storage_errors(f"cannot repair {directory}"):
        log = Log.open(disk, directory, LogConfig(), now_ms, power_lost=False)
        try:
            accepted = log.damage.accept_loss()
        except BaseException:
            log.abandon()
            raise
        log.close()
    return accepted
