"""Metrics of the process and its event loop."""

import contextlib
import resource
import sys
import time
from pathlib import Path

from barnabas import __version__
from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.histogram import Histogram
from barnabas.metrics.metric import Kind, Metric

_MIN_INTERVAL_S = 1.0

_CPU = counter("process_cpu_seconds_total", "CPU time of the process")
_MEMORY = gauge("process_resident_memory_bytes", "Resident memory")
_FILES = gauge(
    "process_open_fds",
    "Open files and connections",
    alarm="above 0.8 of process_max_fds: raise the limit of the process",
)
_MAX_FILES = gauge("process_max_fds", "Limit of open files and connections")
_STARTED = gauge(
    "process_start_time_seconds",
    "Start of the process, in seconds since 1970",
    alarm="several changes in an hour: the process is restarting",
)
_IDLE = gauge(
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "Idle share of the event loop since the last scrape, 0 to 1",
    alarm="below 0.2 for 15 minutes: the node needs more cores, so more nodes",
)
_NETWORK_IDLE = gauge(
    "kafka_network_socketserver_networkprocessoravgidle_percent",
    "The same: one event loop does the work of both pools of Kafka",
)
_DELAY = Metric(
    "barnabas_event_loop_delay_seconds",
    Kind.HISTOGRAM,
    "How late the event loop was, measured ten times a second",
    ("le",),
    "a 0.99 quantile above 0.25 s for 10 minutes: requests wait, and the node may lose its session",
)
_TIME = gauge("barnabas_time_seconds", "Clock of the node, in seconds since 1970")
_BUILD = gauge("barnabas_build_info", "Always 1", "version", "python")
METRICS = (_CPU, _MEMORY, _FILES, _MAX_FILES, _STARTED, _IDLE, _NETWORK_IDLE, _DELAY, _TIME, _BUILD)


class ProcessMetrics:
    """To be made, and asked, on the thread of the event loop."""

    def __init__(self) -> None:
        self._started_s = time.time()
        self._looked_s = time.monotonic()
        self._busy_s = time.thread_time()
        self._idle = 1.0

    def collect(self, samples: Samples, delays: Histogram) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        samples.add(_CPU, round(usage.ru_utime + usage.ru_stime, 3))
        samples.add(_MEMORY, _resident_bytes(usage))
        samples.add(_MAX_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        with contextlib.suppress(OSError):  # a system without /dev/fd
            samples.add(_FILES, sum(1 for _ in Path("/dev/fd").iterdir()))
        samples.add(_STARTED, round(self._started_s, 3))
        idle = round(self._idle_share(), 4)
        samples.add(_IDLE, idle)
        samples.add(_NETWORK_IDLE, idle)
        samples.add_histogram(_DELAY, delays)
        samples.add(_TIME, round(time.time(), 3))
        samples.add(_BUILD, 1, version=__version__, python=sys.version.split()[0])

    def _idle_share(self) -> float:
        now_s, busy_s = time.monotonic(), time.thread_time()
        passed_s = now_s - self._looked_s
        if passed_s >= _MIN_INTERVAL_S:
            self._idle = min(1.0, max(0.0, 1 - (busy_s - self._busy_s) / passed_s))
            self._looked_s, self._busy_s = now_s, busy_s
        return self._idle


def _resident_bytes(usage: resource.struct_rusage) -> int:
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize()
    return usage.ru_maxrss  # macOS: the largest so far, in bytes
