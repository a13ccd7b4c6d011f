"""Records that a power loss may have changed, until they are replaced by those of another replica.

A replica in doubt fetches them again. Long before a leader answers, the controller knows of the
doubt, and the node trusts its disk from then on: its next start would find nothing wrong with them.
The CRC of a batch covers neither its offset nor its leader epoch, and which records were not synced
is no longer known once they are. So `log.state` keeps where they begin.

The file is not synced for that: a power loss that brings an older one back makes the records
suspect again. Only a log that is flushed before it acknowledges is trusted after a power loss, and
none becomes such a log while it has suspect records (`LogFlusher`).
"""

from barnabas.log.errors import StorageError
from barnabas.log.flusher import LogFlusher
from barnabas.log.local_log import LocalLog
from barnabas.log.state_file import StateFile


class LogSuspects:
    __slots__ = ("_flusher", "_log", "_state_file")

    def __init__(self, log: LocalLog, flusher: LogFlusher, state_file: StateFile) -> None:
        self._log = log
        self._flusher = flusher
        self._state_file = state_file

    def note(self, offset: int | None) -> None:
        """The records from `offset` on are suspect; None if none is. The next state has it."""
        log = self._log
        if offset is not None and offset >= log.log_end_offset and log.suspect_from is None:
            offset = None  # there is nothing to replace, and no file says otherwise
        if offset != log.suspect_from:
            log.suspect_from = offset
            self._state_file.invalidate()

    def keep(self) -> None:
        """Write down what was noted, if it is not yet. Raises `StorageError`."""
        if self._log.suspect_from is not None:
            self._state_file.checkpoint()

    def clear(self) -> None:
        """They were replaced, or other replicas copy them. Raises `StorageError`.

        Before another record is acknowledged: otherwise a later start would doubt that one.
        """
        log = self._log
        suspect_from = log.suspect_from
        if suspect_from is None:
            return
        self.note(None)
        try:
            self._state_file.checkpoint()
            if self._flusher.is_required:
                self._state_file.sync()
        except StorageError:  # the caller has to try again
            log.suspect_from = suspect_from
            self._state_file.invalidate()
            raise
