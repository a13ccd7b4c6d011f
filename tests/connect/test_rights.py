"""`barnabas connect rights`: of the service, and of a connector as far as its settings tell."""

import asyncio
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from barnabas.connect.rights import check_service_rights, signs_in_itself
from barnabas.connect.settings import ServiceSettings
from barnabas.errors import NotAuthorized
from tests.cli.conftest import Cli
from tests.support.access import CLOSED
from tests.support.sasl import ADMIN, SECURITY, SaslBroker

SERVICE = [
    "read,write,describe_configs,create --topic connect-configs",
    "read,write,describe_configs,create --topic connect-status",
    "write --transactional-id connect-leader",
    "read --group warm-up",
]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    """A broker with access rules; whoever does not sign in is a super user."""
    with SaslBroker(tmp_path_factory.mktemp("closed"), CLOSED) as broker:
        yield broker


def printed(*options: str) -> list[str]:
    lines = Cli("localhost:1").ok("connect", "rights", *options, "--user", "c").splitlines()
    return [each.removeprefix("barnabas acls add c ") for each in lines]


def written(folder: Path, **config: str) -> str:
    path = folder / "copies.json"
    named = {name.replace("_", "."): value for name, value in config.items()}
    path.write_text(json.dumps({"name": "copies", "config": named}))
    return str(path)


def test_of_the_service() -> None:
    assert printed() == SERVICE
    assert printed("--group", "blue", "--configs-topic", "a", "--status-topic", "b")[:3] == [
        "read,write,describe_configs,create --topic a",
        "read,write,describe_configs,create --topic b",
        "write --transactional-id blue-leader",
    ]


def test_of_a_source_and_of_a_sink(tmp_path: Path) -> None:
    source = printed(
        written(
            tmp_path, connector_class="from_generator", columns="id BIGINT sequence", topic="out"
        )
    )
    assert "write,create --topic out" in source
    assert "write,two_phase_commit --transactional-id barnabas-spark- --prefixed" in source
    sink = printed(
        written(
            tmp_path,
            connector_class="to_parquet",
            path="table",
            topics="orders",
            source_schema="id BIGINT",
        )
    )
    assert sink[:2] == ["read --topic orders", "read --group copies"]


def test_of_a_mirror_in_both_clusters(tmp_path: Path) -> None:
    config = {
        "connector_class": "mirror",
        "source_cluster_alias": "A",
        "source_cluster_bootstrap_servers": "a:1",
        "target_cluster_alias": "B",
        "target_cluster_bootstrap_servers": "b:1",
        "topics": "orders",
    }
    found = printed(written(tmp_path, **config))
    assert found[:2] == ["# in A, a:1:", "read,describe_configs --topic orders"]
    assert "# in B, b:1:" in found


def test_a_connector_that_signs_in_itself_is_known() -> None:
    assert signs_in_itself({"consumer.override.sasl.username": "bob"})
    assert signs_in_itself({"producer.override.security.protocol": "SASL_SSL"})
    assert not signs_in_itself({"consumer.override.fetch.max.bytes": "5", "sasl.x": "bob"})


def test_a_service_without_its_rights_does_not_start(closed: SaslBroker, tmp_path: Path) -> None:
    settings = ServiceSettings(closed.sasl_bootstrap, str(tmp_path), tmp_path, security=SECURITY)
    with pytest.raises(NotAuthorized, match=r"the service connect .*lacks 9 rights") as denied:
        asyncio.run(check_service_rights(settings))
    commands = str(denied.value).splitlines()[1:]
    assert [each.strip() for each in commands] == [
        f"barnabas acls add {ADMIN[0]} {each}" for each in SERVICE[:-1]
    ]
    for each in commands:
        Cli(closed.bootstrap).ok(*shlex.split(each)[1:])
    asyncio.run(check_service_rights(settings))
    with barnabas.Admin(closed.bootstrap) as admin:
        assert "connect-configs" not in admin.topics(), "nothing is created by a check"
