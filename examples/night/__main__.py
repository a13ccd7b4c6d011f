"""Runs the shop: until Ctrl-C, or for a night of so many minutes."""

import argparse
import json
import socket
import sys
import tempfile
import time
from pathlib import Path

import barnabas
from examples.night.clock import Clock
from examples.night.night import Report, night
from examples.night.services import Services

TOPICS = {
    "orders": 4,
    "payments": 4,
    "mails": 1,
    "orders-dead": 1,
    "reminders": 1,
    "reminded": 1,
    "closings": 1,
}


def run(seconds: float | None, seed: int, logs: Path) -> Report | None:
    """A night of so many seconds; None: until Ctrl-C."""
    settings: dict[str, str | int] = {"min.insync.replicas": 2, "default.replication.factor": 3}
    with (
        Clock(logs) as clock,
        barnabas.Cluster(3, settings=settings, secure=True) as cluster,
    ):
        with barnabas.Admin(cluster.bootstrap_servers, security=cluster.security) as admin:
            for name, partitions in TOPICS.items():
                admin.create_topic(name, partitions=partitions)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {
            "NIGHT_SERVERS": cluster.bootstrap_servers,
            "NIGHT_SECURITY": json.dumps(cluster.security),
            "NIGHT_PORT": str(port),
            "NIGHT_STATE": str(logs / "state"),
        }
        with Services(environment, logs) as services:
            print(f"orders go to http://127.0.0.1:{port}/orders, logs to {logs}", flush=True)
            if seconds is not None:
                return night(cluster, services, clock, port, seconds, seed)
            while True:
                time.sleep(60)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.night", description=__doc__)
    parser.add_argument("--minutes", type=float, help="Kill parts of the shop for this long")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the kills")
    arguments = parser.parse_args()
    seconds = None if arguments.minutes is None else 60 * arguments.minutes
    try:
        report = run(seconds, arguments.seed, Path(tempfile.mkdtemp(prefix="barnabas-night-")))
    except KeyboardInterrupt:
        return 0
    assert report is not None
    print(report.text)
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
