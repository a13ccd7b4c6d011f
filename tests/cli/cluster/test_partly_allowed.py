"""Commands that look at a cluster, for a user that may not see all of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas import AclBinding, Admin
from tests.cli.conftest import Cli
from tests.support.access import CLOSED
from tests.support.sasl import ADMIN, SaslBroker

USER, PASSWORD = ADMIN
ON_THE_CLUSTER = "barnabas acls add USER describe --cluster"
CONFIGS_OF_THE_CLUSTER = "barnabas acls add USER describe_configs --cluster"


class User:
    """Runs commands as a user with these rights."""

    def __init__(self, broker: SaslBroker, folder: Path) -> None:
        self.file = folder / "client.properties"
        self.file.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f"sasl.username={USER}\nsasl.password={PASSWORD}\n"
        )
        self.bootstrap = broker.bootstrap
        self.cli = Cli(broker.sasl_bootstrap)

    def may(self, *rights: tuple[str, str, str]) -> None:
        with Admin(self.bootstrap) as admin:
            admin.delete_acls(admin.acls())
            admin.create_acls([AclBinding(f"User:{USER}", *each) for each in rights])

    def run(self, *arguments: str) -> Any:
        return self.cli.run(*arguments, "--command-config", str(self.file))


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    folder = tmp_path_factory.mktemp("partly")
    with SaslBroker(folder, CLOSED) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topic("orders", partitions=1)
            admin.create_topic("hidden", partitions=1)
        yield User(broker, folder)


ALL_TOPICS = (("DESCRIBE", "TOPIC", "*"), ("DESCRIBE_CONFIGS", "TOPIC", "*"))


def test_the_status_without_rights_on_the_cluster(user: User) -> None:
    user.may(*ALL_TOPICS)
    done = user.run("cluster", "status", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["healthy"]
    assert found["quorum"] is None
    assert found["partitions"]["total"] == 2
    assert found["not_checked"].keys() == {"quorum", "moves of replicas"}
    for why in found["not_checked"].values():
        assert "describe is not allowed on this cluster" in why
        assert why.endswith(ON_THE_CLUSTER)
    text = user.run("cluster", "status").stdout.decode()
    assert ": healthy, as far as this user may see\n" in text
    assert "not checked [quorum]" in text
    assert "no controller" not in text


def test_what_decides_by_the_status_needs_all_of_it(user: User) -> None:
    user.may(*ALL_TOPICS)
    waited = user.run("cluster", "status", "--wait", "0")
    assert waited.returncode == 1
    assert b"healthy, as far as this user may see" in waited.stdout
    done = user.run("cluster", "restart", "--command", "true", "--wait", "5")
    assert done.returncode == 1
    said = done.stderr.decode()
    assert "this user may not see whether the cluster is healthy" in said
    assert "describe --cluster" in said
    assert "no node was restarted" in said


def test_the_status_without_rights_on_topics(user: User) -> None:
    user.may(("DESCRIBE", "CLUSTER", "kafka-cluster"), ("DESCRIBE", "TOPIC", "orders"))
    found = json.loads(user.run("cluster", "status", "--json").stdout)
    assert found["healthy"]
    assert found["quorum"]["leader"] == 1
    assert found["partitions"]["total"] == 1
    assert found["not_checked"].keys() == {"topics", "min.insync.replicas"}
    assert "describe_configs --topic orders" in found["not_checked"]["min.insync.replicas"]
    assert "describe --topic '*'" in found["not_checked"]["topics"]


def test_the_doctor_names_what_it_may_not_see(user: User) -> None:
    user.may(("DESCRIBE", "TOPIC", "orders"))
    done = user.run("cluster", "doctor", "--json")
    assert done.returncode in (0, 4), done.stderr
    found = json.loads(done.stdout)
    assert [each for each in found["findings"] if each["severity"] == "critical"] == []
    missing = found["not_checked"]
    for what in ("quorum", "moves of replicas", "disks", "groups"):
        assert missing[what].endswith(ON_THE_CLUSTER), what
    for what in ("settings of nodes", "quotas"):
        assert missing[what].endswith(CONFIGS_OF_THE_CLUSTER), what
    assert missing["settings of topics"].endswith("USER describe_configs --topic orders")
    assert missing["transactions"].endswith("USER read --topic orders")
    assert "topics" in missing
    user.may(
        *ALL_TOPICS,
        ("READ", "TOPIC", "*"),
        ("DESCRIBE", "CLUSTER", "kafka-cluster"),
        ("DESCRIBE_CONFIGS", "CLUSTER", "kafka-cluster"),
    )
    assert json.loads(user.run("cluster", "doctor", "--json").stdout)["not_checked"] == {}


def test_topics_are_described_as_far_as_possible(user: User) -> None:
    user.may(("DESCRIBE", "TOPIC", "orders"))
    done = user.run("topics", "describe")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"topic orders: 1 partition, configs: not shown\n")
    said = done.stderr.decode()
    assert "not shown [sizes] log directories of broker 1: describe is not allowed" in said
    assert ON_THE_CLUSTER in said
    assert "not shown [configs] topic orders: describe_configs is not allowed" in said
    assert "not shown [topics] those that this user may not describe are left out" in said
    (shown,) = json.loads(user.run("topics", "describe", "--json").stdout)
    assert shown["configs"] is None
    assert shown["partitions"][0]["size_bytes"] is None
    assert shown["partitions"][0]["end_offset"] == 0


def test_a_named_topic_that_may_not_be_described(user: User) -> None:
    user.may(("DESCRIBE", "TOPIC", "orders"))
    done = user.run("topics", "describe", "hidden", "orders")
    assert done.returncode == 1
    assert done.stdout.startswith(b"topic orders:")
    assert b"not shown [topic hidden] topic hidden: describe is not allowed" in done.stderr


def test_an_empty_list_of_topics_is_explained(user: User) -> None:
    user.may(("DESCRIBE", "TOPIC", "orders"))
    listed = user.run("topics", "list", "--json")
    assert [each["topic"] for each in json.loads(listed.stdout)] == ["orders"]
    assert listed.stderr == b""
    user.may(("DESCRIBE", "CLUSTER", "kafka-cluster"))
    listed = user.run("topics", "list", "--json")
    assert json.loads(listed.stdout) == []
    assert b"describe --topic '*'" in listed.stderr
