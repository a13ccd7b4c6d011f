"""The service on a secured cluster, as a user with the rights that it needs."""

from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

import barnabas
from barnabas import AclBinding
from barnabas.client.rights.right import Right
from barnabas.connect.rights import connector_rights, service_rights
from barnabas.spark.pipelines.connectors.pipeline_files import pipelines_of
from tests.connect.service import Service, drivers_in
from tests.support.processes import command_line
from tests.support.wait import wait_until

pytestmark = [pytest.mark.drivers, pytest.mark.timeout(900)]

PASSWORD = "correct horse battery"
NUMBERS = {
    "name": "numbers",
    "connector.class": "from_generator",
    "columns": "id BIGINT sequence",
    "topic": "numbers",
}


def grant(rights: Iterable[Right], admin: barnabas.Admin) -> None:
    """All but what only the console needs."""
    admin.create_acls(
        AclBinding(
            "User:connect",
            each.operation.name,
            each.resource_type.name,
            each.name,
            "PREFIXED" if each.prefixed else "LITERAL",
        )
        for each in rights
        if "console" not in each.purpose
    )


def test_a_connector_runs_as_the_user_of_the_service(tmp_path: Path) -> None:
    with barnabas.Cluster(secure=True) as cluster:
        servers = cluster.bootstrap_servers
        user = cluster.add_user("connect", PASSWORD)
        with barnabas.Admin(servers, security=cluster.security) as admin:
            grant(service_rights("connect", "connect-configs", "connect-status"), admin)
            pipelines = pipelines_of(NUMBERS, tmp_path, lambda: None)
            grant(connector_rights(NUMBERS, pipelines, tmp_path), admin)
        file = tmp_path / "connect.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in user.items()))
        options = ("--command-config", str(file), "--no-report")  # which it has no rights for
        service = Service(tmp_path, "service", servers, *options)
        try:
            service.wait_until_ready()
            denied = {**NUMBERS, "name": "denied", "topic": "secret"}
            for config in (denied, NUMBERS):
                body = {"name": config["name"], "config": config}
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

            def is_named() -> bool:
                answer = service.call("GET", "/connectors/denied/status")
                granted = "barnabas acls add connect write,create --topic secret"
                return granted in str(answer.body)

            wait_until(is_named, service.said)
            assert "not reported" not in service.said()
        finally:
            service.close()
        file.unlink()
        written = [each for each in tmp_path.rglob("*") if each.is_file()]
        assert not any(PASSWORD.encode() in each.read_bytes() for each in written)
