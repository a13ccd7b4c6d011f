"""The service on a secured cluster, as a user with the rights that it needs."""

from pathlib import Path

import psutil
import pytest

import barnabas
from barnabas import AclBinding
from tests.connect.service import Service, drivers_in
from tests.support.processes import command_line
from tests.support.wait import wait_until

pytestmark = [pytest.mark.drivers, pytest.mark.timeout(900)]

PASSWORD = "correct horse battery"
RIGHTS = (
    ("CREATE", "TOPIC", "connect-"),
    ("DESCRIBE_CONFIGS", "TOPIC", "connect-"),
    ("READ", "TOPIC", "connect-"),
    ("WRITE", "TOPIC", "connect-"),
    ("WRITE", "TRANSACTIONAL_ID", "connect-leader"),
    ("READ", "GROUP", "warm-up"),
    ("CREATE", "TOPIC", "numbers"),
    ("WRITE", "TOPIC", "numbers"),
    ("WRITE", "TRANSACTIONAL_ID", "barnabas-spark-"),
    ("READ", "TOPIC", "__barnabas_spark_commits"),
    ("WRITE", "TOPIC", "__barnabas_spark_commits"),
    ("CREATE", "TOPIC", "__barnabas_spark_commits"),
)
"""Of prefixes: `docs/connect.md` has the same, and what connectors need comes on top."""


def test_a_connector_runs_as_the_user_of_the_service(tmp_path: Path) -> None:
    with barnabas.Cluster(secure=True) as cluster:
        servers = cluster.bootstrap_servers
        user = cluster.add_user("connect", PASSWORD)
        with barnabas.Admin(servers, security=cluster.security) as admin:
            admin.create_acls(
                AclBinding("User:connect", operation, kind, name, "PREFIXED")
                for operation, kind, name in RIGHTS
            )
        file = tmp_path / "connect.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in user.items()))
        options = ("--command-config", str(file), "--no-report")  # which it has no rights for
        service = Service(tmp_path, "service", servers, *options)
        try:
            service.wait_until_ready()
            config = {
                "connector.class": "from_generator",
                "columns": "id BIGINT sequence",
                "topic": "numbers",
            }
            body = {"name": "numbers", "config": config}
            assert service.call("POST", "/connectors", body).status == 201
            service.wait_for_state("numbers", "RUNNING")
            with barnabas.Consumer(
                servers, "numbers", value_format="json", security=cluster.security
            ) as consumer:
                first = wait_until(lambda: consumer.poll(1), service.said)
            assert first[0].value == {"id": 0}
            for process in psutil.Process(service.process.pid).children(recursive=True):
                assert PASSWORD not in command_line(process)
            assert drivers_in(tmp_path)
            assert "not reported" not in service.said()
        finally:
            service.close()
        file.unlink()
        written = [each for each in tmp_path.rglob("*") if each.is_file()]
        assert not any(PASSWORD.encode() in each.read_bytes() for each in written)
