"""Records in, backups, and what is in a cluster, by the real command."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import barnabas
from barnabas.mirror.flow import ClusterEnd
from tests.mirror.copies import Copied, records_of
from tests.support import fork_server

NOON_MS = 1_700_000_000_000
COMMAND = (sys.executable, "-m", "barnabas", "backup")


def environment(bootstrap: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BARNABAS_")}
    return {**kept, "BARNABAS_BOOTSTRAP": bootstrap}


def backup(
    *arguments: str, bootstrap: str = "nowhere:9", code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run `barnabas backup`, and expect an exit code."""
    done = fork_server.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=environment(bootstrap),
        timeout=300,
        check=False,
    )
    assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done


def records(bootstrap: str, topic: str) -> list[Copied]:
    """Partition, timestamp, key, value and headers of all committed records, in order."""
    return records_of(ClusterEnd("any", bootstrap), topic)


@dataclass
class Source:
    """What a test has in the cluster to back up, and where the backup is."""

    bootstrap: str
    prefix: str
    place: str

    def topic(self, name: str, partitions: int = 1, **configs: str) -> str:
        named = {key.replace("_", "."): value for key, value in configs.items()}
        full = f"{self.prefix}-{name}"
        with barnabas.Admin(self.bootstrap) as admin:
            admin.create_topic(full, partitions=partitions, configs=named)
        return full

    def send(self, topic: str, numbers: range, partitions: int = 1, **options: Any) -> None:
        with barnabas.Producer(self.bootstrap, **options) as producer:
            for each in numbers:
                producer.send(
                    topic,
                    None if each % 7 == 3 else b"value %d" % each,
                    b"key %d" % (each % 10),
                    partition=each % partitions,
                    headers=[("n", b"%d" % each)] if each % 3 else [],
                    timestamp_ms=NOON_MS + each,
                )

    def records(self, topic: str) -> list[Copied]:
        return records(self.bootstrap, topic)

    def create(self, *options: str, code: int = 0) -> dict[str, Any]:
        """Make a point of what this test has."""
        only = ("--topic", f"{self.prefix}.*", "--group", f"{self.prefix}.*")
        done = backup(
            "create", self.place, *only, *options, "--json", bootstrap=self.bootstrap, code=code
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def restore(self, target: str, *options: str) -> dict[str, Any]:
        done = backup("restore", self.place, *options, "--json", bootstrap=target)
        found: dict[str, Any] = json.loads(done.stdout)
        return found
