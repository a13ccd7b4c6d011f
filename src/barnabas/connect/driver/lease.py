"""Until when a driver may run queries: as long as its service leads.

The service passes on, with every heartbeat that the brokers acknowledge, until when it leads. What
has not stopped by then is ended by force, together with Spark: another instance may have started
the same queries. Times are those of `lease_clock`, which all processes of a machine share.
"""

import os
import threading
from collections.abc import Callable
from time import sleep

from barnabas.connect.lease_clock import lease_time

_LOOK_S = 0.1
_GRACE_S = 0.8


class Lease:
    """The time that is left, and what happens when queries outlive it."""

    def __init__(self, kill_spark: Callable[[], None]) -> None:
        self._until = 0.0
        self._kill_spark = kill_spark
        self.in_use = False
        """Whether queries run, or are being started."""

    @property
    def is_valid(self) -> bool:
        return lease_time() < self._until

    def extend(self, until: float) -> None:
        self._until = until

    def watch(self) -> None:
        """Watch it from a thread: the main one may be busy with a connector that hangs."""
        threading.Thread(target=self._watch, name="lease", daemon=True).start()

    def _watch(self) -> None:
        while not (self.in_use and lease_time() > self._until + _GRACE_S):
            sleep(_LOOK_S)
        self.end("its lease has ended, and queries did not stop")

    def end(self, reason: str) -> None:
        """End this process and Spark's at once."""
        os.write(2, f"driver: {reason}\n".encode())
        try:
            self._kill_spark()
        finally:
            os._exit(3)
