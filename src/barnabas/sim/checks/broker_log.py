"""What brokers log: part of the trace, and a violation if a broker failed."""

import logging

from barnabas.sim.checks.history import Violation
from barnabas.sim.process.loop import Killed
from barnabas.sim.process.simulator import Simulator


class BrokerLogHandler(logging.Handler):
    """Turns what brokers log into words in the trace, and their own failures into violations."""

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(logging.INFO)
        self._simulator = simulator

    def emit(self, record: logging.LogRecord) -> None:
        self._simulator.remark("log %s: %s", record.name, record.getMessage())
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            if isinstance(error, Killed):
                return
            failure = Violation(f"a broker failed: {record.getMessage()}: {error!r}")
            failure.__cause__ = error
            self._simulator.failure = self._simulator.failure or failure
