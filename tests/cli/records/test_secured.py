"""Commands that read and write, for a user that signs in and has rights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import AclBinding, Admin
from tests.cli.conftest import Cli
from tests.support.access import AUTHORIZER
from tests.support.sasl import ADMIN, SaslBroker

USER, PASSWORD = ADMIN


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[SaslBroker]:
    settings = {**AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with SaslBroker(tmp_path, settings) as broker:
        broker.port = int(broker.settings["listeners"].split(",")[0].rpartition(":")[2])
        yield broker


def test_produce_consume_and_get(broker: SaslBroker, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.username={USER}\nsasl.password={PASSWORD}\n"
    )
    cli = Cli(broker.sasl_bootstrap)

    def command(*arguments: str, stdin: str = "") -> str:
        return cli.ok(*arguments, "--command-config", str(file), stdin=stdin)

    with Admin(broker.bootstrap) as admin:
        admin.create_topic("orders", partitions=1)
        admin.create_acls([AclBinding(f"User:{USER}", "WRITE", "TOPIC", "orders")])
        command("produce", "orders", "--key-separator", ":", stdin="k:hello\n")
        reading = ("consume", "orders", "--no-follow", "--from-beginning")
        denied = cli.fails(1, *reading, "--command-config", str(file))
        assert "read is not allowed on this topic (TOPIC_AUTHORIZATION_FAILED)" in denied
        assert denied.rstrip().endswith("barnabas acls add USER read --topic orders")
        admin.create_acls(
            [
                AclBinding(f"User:{USER}", "READ", "TOPIC", "orders"),
                AclBinding(f"User:{USER}", "READ", "GROUP", "g"),
            ]
        )
    assert command(*reading) == "hello\n"
    assert command(*reading, "--group", "g") == "hello\n"
    assert "hello" in command("get", "orders", "k")
