"""`barnabas tokens`, and what is done with the file that it writes."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.sasl import PLAIN_PASSWORD, SaslBroker

SECRET = "the-secret-of-all-tokens"
PASSWORDS = {"alice": PLAIN_PASSWORD, "carol": "hatter"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    settings = {"delegation.token.secret.key": SECRET}
    with SaslBroker(tmp_path_factory.mktemp("tokens"), settings) as broker:
        yield broker


@pytest.fixture
def signed_in(broker: SaslBroker, tmp_path: Path) -> dict[str, Cli]:
    found = {}
    for user, password in PASSWORDS.items():
        file = tmp_path / f"{user}.properties"
        file.write_text(
            f"bootstrap.servers={broker.sasl_bootstrap}\nsecurity.protocol=SASL_PLAINTEXT\n"
            f"sasl.mechanism=PLAIN\nsasl.username={user}\nsasl.password={password}\n"
        )
        found[user] = with_config(broker, file)
    return found


def with_config(broker: SaslBroker, file: Path) -> Cli:
    cli = Cli(broker.sasl_bootstrap)
    cli.environment["BARNABAS_COMMAND_CONFIG"] = str(file)
    return cli


@pytest.mark.long
def test_a_token_in_a_file_signs_in(
    broker: SaslBroker, signed_in: dict[str, Cli], tmp_path: Path
) -> None:
    alice, carol = signed_in["alice"], signed_in["carol"]
    file = tmp_path / "job.properties"
    made = alice.json("tokens", "create", "--renewer", "carol", "--output", str(file))
    assert (made["owner"], made["renewers"]) == ("User:alice", ["User:carol"])
    assert "hmac" not in made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (password,) = (line for line in file.read_text().splitlines() if "sasl.password" in line)
    job = with_config(broker, file)
    job.ok("topics", "create", "by-token")
    assert "by-token" in job.ok("topics", "list")
    refused = job.fails(1, "tokens", "create")
    assert "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" in refused
    assert "exists" in alice.fails(1, "tokens", "create", "--output", str(file))

    all_listed = alice.json("tokens", "list", "--owner", "alice")
    (listed,) = (each for each in all_listed if each["token_id"] == made["token_id"])
    assert listed == made
    shown = alice.ok("tokens", "list")
    assert made["token_id"] in shown
    assert password.partition("=")[2] not in shown + json.dumps(listed)

    renewed = carol.json("tokens", "renew", made["token_id"], "--for", "1h")
    assert renewed["expiry_timestamp_ms"] < made["expiry_timestamp_ms"]
    expired = alice.json("tokens", "expire", made["token_id"])
    assert expired["expiry_timestamp_ms"] < renewed["expiry_timestamp_ms"]
    assert "does not exist" in alice.fails(1, "tokens", "renew", made["token_id"])
    failed = job.run("topics", "list")
    assert failed.returncode != 0
    assert b"invalid user or password" in failed.stderr
    assert password.partition("=")[2].encode() not in failed.stderr


def test_a_token_that_is_printed(broker: SaslBroker, signed_in: dict[str, Cli]) -> None:
    alice = signed_in["alice"]
    made = alice.json("tokens", "create", "--max-lifetime", "1h")
    assert made["max_timestamp_ms"] - made["issue_timestamp_ms"] == 3_600_000
    printed = dict(line.split("=", 1) for line in alice.ok("tokens", "create").splitlines())
    assert printed["sasl.tokenauth"] == "true"
    assert printed["sasl.username"] != made["token_id"]
    assert len(printed["sasl.password"]) == len(made["hmac"]) == 88
    anonymous = Cli(broker.bootstrap)
    assert "have signed in" in anonymous.fails(1, "tokens", "list")
    both = (SECRET, printed["sasl.password"])
    assert not any(secret in broker.log.read_text() for secret in both)
