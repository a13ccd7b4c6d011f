"""What takes changes of a database into a topic: a pipeline, or Debezium on Kafka Connect.

Each is started as its users start it, as a process, and is measured with all that it has started.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchmarks.bench import BASELINE
from benchmarks.brokers import BARNABAS
from benchmarks.capture.database import TABLE, Database

JARS = "BARNABAS_DEBEZIUM_JARS"
PREFIX = "bench"
TOPIC = f"{PREFIX}.{TABLE}"


def captures() -> list[str]:
    """Ours, and Debezium if it is there."""
    return [BARNABAS, BASELINE] if os.environ.get(JARS) else [BARNABAS]


@dataclass
class Capture:
    """A running one."""

    process: psutil.Process
    output: Path

    def cpu_s(self) -> float:
        """Of the process and all below it, also of those that have ended."""
        total = 0.0
        for each in (self.process, *self.process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        return total

    def check(self) -> None:
        if not self.process.is_running() or self.process.status() == psutil.STATUS_ZOMBIE:
            raise RuntimeError(f"it has ended: {self.output.read_text()[-3000:]}")


@contextmanager
def running(
    name: str, bootstrap: str, database: Database, table: Path | None = None
) -> Iterator[Capture]:
    """One of `captures`, from an empty checkpoint on; into a table of Parquet files, if one is
    given, or else into the topic."""
    with TemporaryDirectory(prefix="barnabas-bench-") as directory:
        folder = Path(directory)
        if name == BARNABAS:
            command = _pipeline(bootstrap, database, folder, table)
        else:
            command = _debezium(bootstrap, database, folder)
        output = folder / "output"
        with output.open("wb") as file:
            process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file)
        capture = Capture(psutil.Process(process.pid), output)
        try:
            yield capture
        finally:
            below = capture.process.children(recursive=True)
            process.terminate()
            process.wait(60)
            for each in psutil.wait_procs(below, timeout=10)[1]:
                each.kill()


def _pipeline(bootstrap: str, database: Database, folder: Path, table: Path | None) -> list[str]:
    definition = folder / "changes.sql"
    sink = f"topic {TOPIC} topic_per_row=true exactly_once=true"
    definition.write_text(
        f"-- source changes: postgres_changes {database.url} {TABLE} topic_prefix={PREFIX} "
        f"slot={database.slot} publication={database.slot}\n"
        f"-- sink: {sink if table is None else f'parquet {table}'}\n"
        "SELECT topic, key, value FROM changes\n"
    )
    return [
        sys.executable, "-m", "barnabas", "pipeline", "run", str(definition), "-b", bootstrap,
        "--master", "local[2]", "--conf", "spark.ui.enabled=false",
        "--checkpoints", str(folder / "checkpoints"),
    ]  # fmt: skip


def _debezium(bootstrap: str, database: Database, folder: Path) -> list[str]:
    json = {"converter": "org.apache.kafka.connect.json.JsonConverter"}
    json["converter.schemas.enable"] = "false"
    worker = {
        "bootstrap.servers": bootstrap,
        **{f"{part}.{name}": value for part in ("key", "value") for name, value in json.items()},
        "offset.storage.file.filename": str(folder / "offsets"),
        "offset.flush.interval.ms": "1000",
        "listeners": "http://127.0.0.1:0",
    }
    connector = {
        "name": PREFIX,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.user": "postgres",
        "database.password": "any",
        "database.dbname": "postgres",
        "topic.prefix": PREFIX,
        "table.include.list": TABLE,
        "slot.name": database.slot,
        "publication.name": database.slot,
        "publication.autocreate.mode": "filtered",
    }
    files = [_properties(folder / "worker", worker), _properties(folder / "connector", connector)]
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    return ["java", "-Xmx2g", "-cp", f"{os.environ[JARS]}/*", main, *files]


def _properties(path: Path, settings: Mapping[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return str(path)
