"""A log's shared state without the log, for tests of single parts."""

from barnabas.log.config import LogConfig
from barnabas.log.local_log import LocalLog
from barnabas.log.recovery.recovery import recover
from barnabas.log.segment.open_files import OpenFiles
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=100)


def local_log(disk: MemoryDisk, config: LogConfig = CONFIG, now_ms: int = 0) -> LocalLog:
    """What `Log.open` gives to its parts."""
    disk.make_directory(DIRECTORY)
    files = OpenFiles(disk)
    recovered = recover(files, DIRECTORY, config, now_ms, power_lost=False)
    return LocalLog(files, DIRECTORY, config, now_ms, recovered)
