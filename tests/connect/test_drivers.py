"""Drivers that connectors have for themselves, and drivers that die; Debezium's settings."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import barnabas
from tests.conftest import MakeBroker
from tests.connect.service import Service, drivers_in
from tests.support.postgres import Postgres
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.drivers,
    pytest.mark.timeout(900),
    pytest.mark.long,
]


@pytest.fixture
def bootstrap(make_broker: MakeBroker) -> str:
    return make_broker().bootstrap


@pytest.fixture
def service(bootstrap: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path, "service", bootstrap)
    yield service
    service.close()


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    server = Postgres(wal_level="logical")
    yield server
    server.close()


def test_changes_go_on_when_drivers_are_killed(
    service: Service, bootstrap: str, postgres: Postgres, tmp_path: Path
) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as database:
        database.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)")
        database.execute("INSERT INTO orders VALUES (1, 'lamp')")
        service.wait_until_ready()
        config = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": str(postgres.folder),
            "database.user": "postgres",
            "database.dbname": "postgres",
            "topic.prefix": "shop",
            "table.include.list": "public.orders",
        }
        own = {**config, "topic.prefix": "own", "spark.own": "true", "spark.driver.memory": "512m"}
        for name, given in (("shop", config), ("own", own)):
            body = {"name": name, "config": given}
            assert service.call("POST", "/connectors", body).status == 201
        for prefix in ("shop", "own"):
            assert changes(bootstrap, prefix, 1) == [(1, "r")]
        assert len(drivers_in(tmp_path)) == 2

        for pid in drivers_in(tmp_path):
            os.kill(pid, signal.SIGKILL)
        database.execute("INSERT INTO orders VALUES (2, 'table')")
        for prefix in ("shop", "own"):
            assert changes(bootstrap, prefix, 2) == [(1, "r"), (2, "c")]
        assert len(drivers_in(tmp_path)) == 2

        assert service.call("DELETE", "/connectors/own").status == 204
        wait_until(lambda: len(drivers_in(tmp_path)) == 1, "its driver has not ended")


def test_a_connector_that_kills_its_driver_fails_alone(
    service: Service, bootstrap: str, tmp_path: Path
) -> None:
    (tmp_path / "deadly.py").write_text("# a pipeline\nimport os\nos._exit(7)\n")
    deadly = {"connector.class": "pipeline", "pipeline.file": "deadly.py"}
    made = {
        "connector.class": "from_generator",
        "columns": "id BIGINT sequence",
        "topic": "numbers",
    }
    service.wait_until_ready()
    for name, config in (("deadly", deadly), ("numbers", made)):
        body = {"name": name, "config": config}
        assert service.call("POST", "/connectors", body).status == 201
    wait_until(
        lambda: service.get("/connectors/deadly/status")["connector"]["state"] == "FAILED",
        service.said,
        timeout_s=400,
    )
    trace = service.get("/connectors/deadly/status")["connector"]["trace"]
    assert "has ended 3 times while this connector started" in trace
    with barnabas.Consumer(bootstrap, "numbers", value_format="json") as consumer:
        first = wait_until(lambda: consumer.poll(1), service.said)
        assert first[0].value == {"id": 0}
    assert service.call("POST", "/connectors/deadly/restart").status == 204


def test_a_spark_that_can_t_start_is_the_reason_of_its_connector(service: Service) -> None:
    config = {
        "connector.class": "from_generator",
        "columns": "id BIGINT sequence",
        "topic": "numbers",
        "spark.own": "true",
        "spark.driver.memory": "a lot",
    }
    body = {"name": "numbers", "config": config}
    assert wait_until(lambda: service.call("POST", "/connectors", body).status == 201)

    def failed() -> bool:
        shown = service.call("GET", "/connectors/numbers/status").body["connector"]
        return shown["state"] == "FAILED" and "-numbers-" in shown["trace"]

    wait_until(failed, service.said)


def changes(bootstrap: str, prefix: str, wanted: int) -> list[tuple[int, str]]:
    """The changes in the topic of the orders, once there are as many."""
    found: list[tuple[int, str]] = []
    with barnabas.Consumer(bootstrap, f"{prefix}.public.orders") as consumer:

        def has_all() -> bool:
            for each in consumer.poll(0.5):
                change = json.loads(each.value)
                found.append((change["after"]["id"], change["op"]))
            return len(found) >= wanted

        wait_until(has_all, lambda: f"{prefix}: {found}")
        assert consumer.poll(0.5) == []
    return found
