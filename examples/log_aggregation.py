"""Log aggregation: many services log as always, and all of it comes together in one place.

    barnabas server &
    python examples/log_aggregation.py [BOOTSTRAP]

A service adds one handler to Python's `logging`. The handler hands each record to a producer, which
sends in the background. An aggregator writes everything to one file and raises an alarm.
"""

import argparse
import logging
import tempfile
from collections import Counter
from pathlib import Path
from threading import Thread

from barnabas import Consumer, Producer, errors

TOPIC = "logs"
LINES = 40


class TopicHandler(logging.Handler):
    """Sends what is logged to a topic; all of one service in its order."""

    def __init__(self, service: str, bootstrap: str) -> None:
        super().__init__()
        self._service = service
        self._producer = Producer(
            bootstrap, compression="lz4", linger_ms=50, key_format="str", value_format="json"
        )

    def emit(self, record: logging.LogRecord) -> None:
        event = {
            "service": self._service,
            "level": record.levelname,
            "text": record.getMessage(),
        }
        try:
            timestamp_ms = int(record.created * 1000)
            self._producer.send(TOPIC, event, key=self._service, timestamp_ms=timestamp_ms)
        except errors.BarnabasError:
            self.handleError(record)  # says so on stderr: a log must not stop the service

    def close(self) -> None:
        self._producer.close()
        super().close()


def service(name: str, bootstrap: str) -> None:
    """Any program that logs."""
    log = logging.getLogger(name)
    log.propagate = False
    log.setLevel(logging.INFO)
    log.addHandler(handler := TopicHandler(name, bootstrap))
    for number in range(LINES):
        log.info("request %d served", number)
        if name == "checkout" and number % 8 == 0:
            log.error("payment %d refused", number)
    handler.close()


def aggregate(bootstrap: str, file: Path, lines: int) -> Counter[str]:
    """Write so many lines to a file; the number of errors of each service."""
    failures: Counter[str] = Counter()
    with (
        Consumer(bootstrap, TOPIC, group="aggregator", value_format="json") as consumer,
        file.open("w") as out,
    ):
        for message in consumer:
            event = message.value
            out.write(f"{message.timestamp:%H:%M:%S} {event['service']}: {event['text']}\n")
            if event["level"] == "ERROR":
                failures[event["service"]] += 1
                if failures[event["service"]] == 3:
                    print(f"alarm: {event['service']} fails, {event['text']}")
            lines -= 1
            if lines == 0:
                return failures
    raise AssertionError("a consumer never ends by itself")


def main(bootstrap: str) -> None:
    names = ("website", "checkout", "stock")
    services = [Thread(target=service, args=(name, bootstrap)) for name in names]
    for each in services:
        each.start()
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "all.log")
        failures = aggregate(bootstrap, file, len(names) * LINES + LINES // 8)
        written = file.read_text().splitlines()
    for each in services:
        each.join()
    print(f"{len(written)} lines of {len(names)} services in one file, {failures.total()} errors")
    checkout = [line.split(": ")[1] for line in written if " checkout: request" in line]
    print(f"those of checkout from {checkout[0]!r} to {checkout[-1]!r}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
