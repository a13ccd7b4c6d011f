"""Clients that do not sign in as they should, and what they can learn and hurt by that."""

import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import Admin
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.raw_client import RawClient
from tests.hostile.onlooker import MB, Onlooker
from tests.support.sasl import (
    ADMIN,
    MECHANISMS,
    PLAIN_PASSWORD,
    SCRAM_PASSWORD,
    SaslBroker,
    exchange,
    sign_in,
)

FAILED = ErrorCode.SASL_AUTHENTICATION_FAILED
BOB = ("bob", SCRAM_PASSWORD)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    with SaslBroker(tmp_path_factory.mktemp("sasl")) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.set_password(*BOB)
        yield broker


def user_of(mechanism: str) -> tuple[str, str]:
    return ADMIN if mechanism == "PLAIN" else BOB


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_signs_in_and_is_served(broker: SaslBroker, mechanism: str) -> None:
    with broker.connect() as client:
        assert client.ask(ApiVersionsRequest("raw", "1")).error_code == 0
        answer = sign_in(client, mechanism, *user_of(mechanism))
        assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
        assert client.ask(MetadataRequest([])).brokers
        large = MetadataRequest([], False, False, False)
        client.send_bytes(client.frame(large) + client.frame(large))
        assert [client.receive().error_code for _ in range(2)] == [0, 0]
        again = client.ask(SaslHandshakeRequest(mechanism))
        assert again.error_code == ErrorCode.ILLEGAL_SASL_STATE, "sessions here do not end"


def test_requests_before_the_sign_in_end_the_connection(broker: SaslBroker) -> None:
    for before in ((), (SaslHandshakeRequest("PLAIN"),)):
        with broker.connect() as client:
            for request in before:
                assert client.ask(request).error_code == 0
            client.send(MetadataRequest([]))
            assert client.is_closed()
    with broker.connect() as client:
        together = (ApiVersionsRequest("raw", "1"), MetadataRequest([]), MetadataRequest([]))
        client.send_bytes(b"".join(map(client.frame, together)))
        assert client.receive().error_code == 0, "what was asked before is answered"
        assert client.is_closed()


def test_requests_right_behind_the_sign_in_are_served(broker: SaslBroker) -> None:
    with broker.connect() as client:
        client.send(SaslHandshakeRequest("PLAIN"))
        client.send(SaslAuthenticateRequest(exchange("PLAIN", *ADMIN).first()))
        client.send(MetadataRequest([]))
        answers = [client.receive() for _ in range(3)]
        assert answers[2].brokers


@pytest.mark.parametrize("size", [-1, 512 * 1024 + 1, 2**31 - 1])
def test_large_frames_before_the_sign_in_end_the_connection(broker: SaslBroker, size: int) -> None:
    with broker.connect() as client:
        client.send_bytes(struct.pack(">i", size))
        assert client.is_closed()


def test_many_tagged_fields_before_the_sign_in_end_the_connection(broker: SaslBroker) -> None:
    """They would keep the event loop busy for everybody."""
    header = struct.pack(">hhih", ApiVersionsRequest.API_KEY, 3, 1, -1)
    count = b"\x90\xbf\x05"  # 90,000 of them, in the header, each two bytes long
    frame = header + count + bytes(180_000)
    with broker.connect() as client:
        client.send_bytes(struct.pack(">i", len(frame)) + frame)
        assert client.is_closed()
    assert "too many array elements or tagged fields" in broker.log.read_text()


def test_messages_out_of_order_end_the_connection(broker: SaslBroker) -> None:
    message = exchange("PLAIN", *ADMIN).first()
    with broker.connect() as client:
        answer = client.ask(SaslAuthenticateRequest(message))
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.is_closed()
    with broker.connect() as client:
        client.ask(SaslHandshakeRequest("PLAIN"))
        again = client.ask(SaslHandshakeRequest("SCRAM-SHA-256"))
        assert again.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.is_closed()


def test_other_mechanisms_are_refused_with_those_that_are_enabled(broker: SaslBroker) -> None:
    with broker.connect() as client:
        answer = client.ask(SaslHandshakeRequest("GSSAPI"))
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == list(MECHANISMS)
        assert client.is_closed()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_unknown_users_and_wrong_passwords_look_the_same(
    broker: SaslBroker, mechanism: str
) -> None:
    known, _ = user_of(mechanism)
    seen = []
    for user in (known, "nobody"):
        with broker.connect() as client:
            began = time.monotonic()
            answer = sign_in(client, mechanism, user, "guess")
            assert time.monotonic() - began >= 0.1, "guessing is not slowed down"
            seen.append((answer.error_code, answer.error_message))
            client.send(MetadataRequest([]))
            assert client.is_closed()
    assert seen[0] == seen[1]
    assert seen[0][0] == FAILED


def test_replayed_messages_are_refused(broker: SaslBroker) -> None:
    steps = exchange("SCRAM-SHA-256", *BOB)
    with broker.connect() as client:
        client.ask(SaslHandshakeRequest("SCRAM-SHA-256"))
        first = steps.first()
        proof = steps.step(bytes(client.ask(SaslAuthenticateRequest(first)).auth_bytes))
        assert proof is not None
        assert client.ask(SaslAuthenticateRequest(proof)).error_code == 0
    with broker.connect() as client:
        client.ask(SaslHandshakeRequest("SCRAM-SHA-256"))
        client.ask(SaslAuthenticateRequest(first))
        assert client.ask(SaslAuthenticateRequest(proof)).error_code == FAILED
        assert client.is_closed()


def test_old_clients_go_on_without_headers(broker: SaslBroker) -> None:
    def say(client: RawClient, message: bytes) -> None:
        client.send_bytes(struct.pack(">i", len(message)) + message)

    with broker.connect() as client:
        client.ask(SaslHandshakeRequest("SCRAM-SHA-512"), 0)
        steps = exchange("SCRAM-SHA-512", *BOB)
        message: bytes | None = steps.first()
        while message is not None:
            say(client, message)
            message = steps.step(client.receive_frame())
        assert client.ask(MetadataRequest([])).brokers
    with broker.connect() as client:
        client.ask(SaslHandshakeRequest("PLAIN"), 0)
        say(client, exchange("PLAIN", "alice", "guess").first())
        assert client.is_closed()


# -- sessions that end -----------------------------------------------------------------------------


def test_a_session_ends_unless_the_client_signs_in_again(broker: SaslBroker) -> None:
    with broker.connect(short=True) as idle, broker.connect(short=True) as client:
        assert sign_in(idle, "SCRAM-SHA-256", *BOB).session_lifetime_ms == 1000
        began = time.monotonic()
        while time.monotonic() - began < 1.6:
            lifetime_ms, brokers = _sign_in_and_ask(client)
            assert lifetime_ms == 1000
            assert brokers
            time.sleep(0.4)
        assert sign_in(idle, "SCRAM-SHA-256", *BOB).error_code == 0, "also when it is late"
        time.sleep(1.1)
        idle.send(MetadataRequest([]))
        assert idle.is_closed()


def _sign_in_and_ask(client: RawClient) -> tuple[int, list[object]]:
    """In one piece: however slow the machine is, the session does not end in between."""
    proof = SaslAuthenticateRequest(exchange("PLAIN", *ADMIN).first())
    together = (SaslHandshakeRequest("PLAIN"), proof, MetadataRequest([]))
    client.send_bytes(b"".join(map(client.frame, together)))
    _, signed_in, metadata = [client.receive() for _ in together]
    return signed_in.session_lifetime_ms, metadata.brokers


@pytest.mark.parametrize(
    ("mechanism", "user", "password"),
    [("PLAIN", "carol", "hatter"), ("SCRAM-SHA-256", *BOB), ("PLAIN", "alice", "guess")],
)
def test_who_signs_in_again_is_the_same_by_the_same_mechanism(
    broker: SaslBroker, mechanism: str, user: str, password: str
) -> None:
    with broker.connect(short=True) as client:
        assert sign_in(client, "PLAIN", *ADMIN).error_code == 0
        assert sign_in(client, mechanism, user, password).error_code
        assert client.is_closed(), "a session that only ends closes nothing by itself"


# -- many ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("open_files")
def test_many_that_do_not_finish_hurt_nobody(broker: SaslBroker) -> None:
    clients: list[RawClient] = []
    try:
        with Onlooker(broker) as onlooker:
            for _ in range(600):
                client = broker.connect()
                clients.append(client)
                client.send(SaslHandshakeRequest("SCRAM-SHA-512"))
                client.send(SaslAuthenticateRequest(exchange("SCRAM-SHA-512", *BOB).first()))
            for client in clients:
                client.receive()
            with broker.connect() as client:
                assert sign_in(client, "SCRAM-SHA-512", *BOB).error_code == 0
        assert onlooker.grown < 16 * MB
        assert onlooker.longest_wait_s < 1
    finally:
        for client in clients:
            client.socket.close()


def test_failures_are_logged_at_a_limited_rate_and_without_secrets(broker: SaslBroker) -> None:
    clients = [broker.connect() for _ in range(30)]
    for client in clients:
        client.ask(SaslHandshakeRequest("PLAIN"))
        client.send(SaslAuthenticateRequest(exchange("PLAIN", "mallory", "guess-1234").first()))
    for client in clients:
        assert client.receive().error_code == FAILED
        client.socket.close()
    log = broker.log.read_text()
    lines = [line for line in log.splitlines() if "sign-in as 'mallory'" in line]
    assert len(lines) <= 10
    assert not any(secret in log for secret in (PLAIN_PASSWORD, SCRAM_PASSWORD, "guess-1234"))


def test_settings_do_not_show_passwords(broker: SaslBroker) -> None:
    with Admin(broker.bootstrap) as admin:
        shown = admin.configs(broker=1)
    assert not any(PLAIN_PASSWORD in str(each) for each in shown.values())
    assert shown["plain.sasl.jaas.config"].sensitive


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"listener.name.clients.plain.sasl.jaas.config": "PlainLoginModule 'hush"}, "JAAS"),
        ({"listener.name.clients.plain.sasl.jaas.config": "X required;"}, "has no users"),
        ({"sasl.enabled.mechanisms": "PLAIN,GSSAPI"}, "SCRAM-SHA-256"),
    ],
)
def test_wrong_settings_are_refused_at_the_start(
    tmp_path: Path, settings: dict[str, str], expected: str
) -> None:
    broker = SaslBroker(tmp_path, settings)
    try:
        broker.launch()
        with pytest.raises(AssertionError, match="ended at its start"):
            broker.wait_until_ready()
        assert expected in broker.log.read_text()
        assert "hush" not in broker.log.read_text()
    finally:
        broker.kill()
