"""Our clients sign in, and again before their session ends."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from barnabas import Admin, Consumer, Producer
from barnabas.client.connect import sign_in
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.sasl_login import SaslLogin
from barnabas.errors import BrokerUnreachable, SignInFailed
from tests.support import fork_server
from tests.support.sasl import ADMIN, PLAIN_PASSWORD, SCRAM_PASSWORD, SaslBroker
from tests.support.wait import LIMIT_S


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    # Long enough for every machine to sign in again before the end.
    sessions = {"listener.name.short.connections.max.reauth.ms": "60000"}
    with SaslBroker(tmp_path_factory.mktemp("sasl"), sessions) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.set_password("bob", SCRAM_PASSWORD)
            admin.create_topic("orders")
        yield broker


def security(mechanism: str, user: str, password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def test_sessions_are_prolonged_while_records_flow(
    broker: SaslBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = sign_in._session
    signed_in: Counter[BrokerConnection] = Counter()

    async def counted(connection: BrokerConnection, login: SaslLogin, timeout_ms: int) -> int:
        lifetime_ms = await session(connection, login, timeout_ms)
        signed_in[connection] += 1
        return lifetime_ms

    monkeypatch.setattr(sign_in, "_session", counted)
    monkeypatch.setattr(sign_in, "_AGAIN_AFTER", (0.005, 0.01))  # at the earliest after 300 ms
    at = f"127.0.0.1:{broker.short_port}"
    bob = security("SCRAM-SHA-256", "bob", SCRAM_PASSWORD)
    said = len(broker.log.read_text())
    sent = []
    with (
        Producer(at, security=bob) as producer,
        Consumer(at, "orders", group="g", security=bob) as consumer,
    ):
        while sum(times > 2 for times in signed_in.values()) < 2:
            sent.append(b"%d" % len(sent))
            producer.send("orders", sent[-1]).result(LIMIT_S)
            time.sleep(0.05)
        assert [message.value for message in islice(consumer, len(sent))] == sent
    assert "session" not in broker.log.read_text()[said:], "a session has ended"


def test_why_nobody_can_sign_in(broker: SaslBroker) -> None:
    cases = {
        broker.bootstrap: "this listener does not use SASL",
        broker.sasl_bootstrap: "invalid user or password",
    }
    for address, reason in cases.items():
        with (
            Admin(address, security=security("PLAIN", "alice", "guess-1234")) as admin,
            pytest.raises(
                SignInFailed, match=f"user 'alice' cannot sign in with PLAIN: .*{reason}"
            ),
        ):
            admin.topics()
    hint = "if clients sign in there, set security.protocol"
    with Admin(broker.sasl_bootstrap) as admin, pytest.raises(BrokerUnreachable, match=hint):
        admin.topics()


def test_commands_sign_in_by_a_file_or_by_variables(broker: SaslBroker, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    lines = {"bootstrap.servers": broker.sasl_bootstrap, **security("PLAIN", *ADMIN)}
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    def run(*arguments: str, **variables: str) -> tuple[int, str]:
        done = fork_server.run(
            [sys.executable, "-m", "barnabas", *arguments],
            capture_output=True,
            env=variables,
            timeout=LIMIT_S,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).decode()

    code, said = run("topics", "list", "--command-config", str(file))
    assert (code, "orders" in said) == (0, True)
    bob = {
        f"BARNABAS_{name.upper().replace('.', '_')}": value
        for name, value in security("SCRAM-SHA-512", "bob", SCRAM_PASSWORD).items()
    }
    code, said = run("users", "list", "-b", broker.sasl_bootstrap, **bob)
    assert (code, "SCRAM-SHA-512" in said) == (0, True)
    bob["BARNABAS_SASL_USERNAME"] = "eve"
    code, said = run("topics", "list", "--verbose", "-b", broker.sasl_bootstrap, **bob)
    assert code == 3
    assert "user 'eve' cannot sign in with SCRAM-SHA-512" in said
    assert SCRAM_PASSWORD not in said


def test_secrets_are_in_no_log(broker: SaslBroker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Admin(broker.sasl_bootstrap, security=security("PLAIN", *ADMIN)) as admin:
        admin.topics()
        shown = repr(vars(admin))
    wrong = security("SCRAM-SHA-256", "bob", "guess-1234")
    with Admin(broker.sasl_bootstrap, security=wrong) as admin, pytest.raises(SignInFailed):
        admin.topics()
    said = caplog.text + broker.log.read_text() + shown
    assert not any(secret in said for secret in (PLAIN_PASSWORD, SCRAM_PASSWORD, "guess-1234"))
