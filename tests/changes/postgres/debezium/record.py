"""Run Debezium on Kafka Connect with the scenario, and write what it produces to golden.json.

    python -m tests.changes.postgres.debezium.record FOLDER

FOLDER has the JAR files of Kafka's connect-runtime and connect-json and of Debezium's connector for
PostgreSQL, with all that they need (`mvn dependency:copy-dependencies`). Needs a Java of version 17
or later. This is done by hand; the test compares us with the file.
"""

import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

import barnabas
from barnabas.records.message import Message
from tests.changes.postgres.debezium.normalization import normalized
from tests.changes.postgres.debezium.scenario import LAST_KEY, PREFIX, TABLES, change, prepare
from tests.support.postgres import Postgres
from tests.support.wait import wait_until

GOLDEN = Path(__file__).with_name("golden.json")
_LIMIT_S = 120.0


def main() -> None:
    jars = Path(sys.argv[1])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Postgres(tcp_port=port, wal_level="logical")
    try:
        with server.connect() as connection:
            prepare(connection)
        with barnabas.Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
            records = _records(cluster.bootstrap_servers, server, port, jars, Path(folder))
    finally:
        server.close()
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in records)
    GOLDEN.write_text(f"[\n{lines}\n]\n", "utf-8")
    print(f"{len(records)} records in {GOLDEN}")


def _records(
    bootstrap: str, server: Postgres, port: int, jars: Path, folder: Path
) -> list[dict[str, object]]:
    worker = {
        "bootstrap.servers": bootstrap,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "offset.storage.file.filename": str(folder / "offsets"),
        "offset.flush.interval.ms": "500",
        "listeners": "http://127.0.0.1:0",
    }
    connector = {
        "name": PREFIX,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "database.user": "postgres",
        "database.password": "any",
        "database.dbname": "postgres",
        "topic.prefix": PREFIX,
        "table.include.list": ",".join(TABLES),
        "publication.autocreate.mode": "filtered",
        "provide.transaction.metadata": "true",
    }
    files = []
    for name, settings in (("worker", worker), ("connector", connector)):
        file = folder / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        files.append(str(file))
    log = (folder / "log").open("w+")
    java = ["java", "-cp", f"{jars}/*", "org.apache.kafka.connect.cli.ConnectStandalone", *files]
    process = subprocess.Popen(java, stdout=log, stderr=subprocess.STDOUT)
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            slot = "SELECT 1 FROM pg_replication_slots WHERE active"
            wait_until(
                lambda: process.poll() is None and connection.execute(slot).fetchone(),
                lambda: f"Debezium has not started: {Path(log.name).read_text()[-3000:]}",
                timeout_s=_LIMIT_S,
            )
            change(connection)
        return _consume(bootstrap)
    finally:
        process.kill()
        process.wait()
        log.close()


def _consume(bootstrap: str) -> list[dict[str, object]]:
    """All records, by topic; up to the last change and the end of its transaction."""
    last = json.dumps({"id": LAST_KEY}, separators=(",", ":")).encode()
    orders = f"{PREFIX}.public.orders"
    wait_until(
        lambda: any(message.key == last for message in _read(bootstrap, orders)),
        "the last change has not come",
        timeout_s=_LIMIT_S,
    )
    topics = [f"{PREFIX}.{table}" for table in (*TABLES, "transaction")]
    return [
        normalized(topic, _text(message.key), _text(message.value))
        for topic in topics
        for message in _read(bootstrap, topic)
    ]


def _read(bootstrap: str, topic: str) -> list[Message]:
    found: list[Message] = []
    with barnabas.Consumer(bootstrap, topic, start="earliest") as consumer:
        while more := consumer.poll(3.0):
            found += more
    return found


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode()


if __name__ == "__main__":
    main()
