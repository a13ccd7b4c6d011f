"""The threads and the child process of a node, by the work that they do."""

from collections.abc import Callable
from concurrent.futures import Executor

_ENOUGH_CPUS = 2


class NodeThreads:
    """Pools for `loop.run_in_executor`; each is separate, so that a flush never waits for a
    compaction."""

    def __init__(
        self,
        pool: Callable[[int, str], Executor],
        process: Callable[[], Executor],
        cpus: float | None = None,
    ) -> None:
        """With less than two CPUs only one thread compresses, and the event loop keeps its own."""
        self.disk = pool(2, "disk")
        self.flush = pool(4, "flush")
        self.metadata = pool(1, "metadata")
        self.decode = pool(1, "decode")
        self.compactor = process()
        self.compress = pool(2 if cpus is None or cpus >= _ENOUGH_CPUS else 1, "compress")

    def close(self) -> None:
        """Wait for all work, and end the threads and the process."""
        pools = (self.compactor, self.compress, self.decode, self.flush, self.disk, self.metadata)
        for each in pools:
            each.shutdown(wait=True)
