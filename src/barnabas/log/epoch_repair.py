"""Correcting leader epochs of batches in an open log; see `epoch_order`."""

from collections.abc import Iterable

from barnabas.log.epoch_order import settle_epochs
from barnabas.log.errors import storage_errors
from barnabas.log.local_log import LocalLog
from barnabas.log.segment.batch_epochs import epoch_runs, write_epoch


class EpochRepair:
    """The epochs of a log's batches when another source tells what they have to be."""

    __slots__ = ("_log",)

    def __init__(self, log: LocalLog) -> None:
        self._log = log

    def adopt(self, leader_epoch: int) -> int:
        """This replica leads in `leader_epoch`: others copy its log, whatever epochs it has.

        Batches whose epoch can't be, and is not known, get a safe substitute. Returns how many
        were changed. Raises `StorageError`.
        """
        log = self._log
        impossible = log.epochs.start_above(leader_epoch)
        starts = [each for each in (impossible, log.suspect_epochs_from) if each is not None]
        if not starts:
            return 0
        start = min(starts)
        with storage_errors(f"cannot correct leader epochs in {log.directory}"):
            runs = epoch_runs(log.segments, start)
            settled = settle_epochs(runs, log.epochs.epoch_for(start - 1), leader_epoch)
            ends = [run.start_offset for run in runs[1:]] + [None]
            changed = 0
            for run, end, (epoch, _) in zip(runs, ends, settled, strict=True):
                assert epoch is not None
                if epoch != run.epoch:
                    changed += write_epoch(log.segments, epoch, run.start_offset, end)
        known = log.epochs.entries()
        log.epochs.truncate_from(start)
        for run, (epoch, _) in zip(runs, settled, strict=True):
            assert epoch is not None
            gap_start = run.start_offset if run.gap_start is None else run.gap_start
            log.epochs.assign_behind_gap(known, gap_start, epoch, run.start_offset)
        log.suspect_epochs_from = None
        return changed

    def correct(self, offsets: Iterable[int]) -> int:
        """Write the epoch that the log knows to the batches that start at these offsets.

        Returns how many had another one. Raises `StorageError`.
        """
        log = self._log
        changed = 0
        with storage_errors(f"cannot correct leader epochs in {log.directory}"):
            for offset in offsets:
                epoch = log.epochs.epoch_for(offset)
                if epoch >= 0:
                    changed += write_epoch(log.segments, epoch, offset, offset + 1)
        return changed
