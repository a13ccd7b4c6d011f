"""Nodes that ask who their clients are do not listen without a cluster secret."""

import asyncio
import os
from pathlib import Path

import pytest

from barnabas.broker.environment import Environment
from barnabas.broker.net.peer_proof import Credentials, PeerIdentity, Prover, key_of
from barnabas.broker.net.required_secret import why_secret_is_required
from barnabas.broker.server import Server
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.support.peer import DIRECTORY
from tests.support.sasl import SaslBroker

RULES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
}
SASL = {
    "listeners": "PLAINTEXT://127.0.0.1:0,CLIENTS://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
}
PLAINTEXT = {"listeners": "PLAINTEXT://127.0.0.1:0"}


async def start(data: Path, chosen: dict[str, str]) -> Server:
    environment = Environment.real(asyncio.get_running_loop())
    server = Server(BrokerConfig({**chosen, "log.dirs": str(data)}), environment, pytest.fail)
    await server.start()
    return server


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        (PLAINTEXT, None),
        ({"listeners": "SSL://127.0.0.1:0"}, None),
        ({**PLAINTEXT, **RULES}, "authorizer.class.name is set"),
        (SASL, "clients sign in on listener CLIENTS"),
        ({"listeners": "SASL_SSL://127.0.0.1:0"}, "clients sign in on listener SASL_SSL"),
        (
            {"listeners": "SSL://127.0.0.1:0", "listener.name.ssl.ssl.client.auth": "requested"},
            "ssl.client.auth is set for listener SSL",
        ),
        (
            {"listeners": "SSL://127.0.0.1:0", "ssl.client.auth": "required"},
            "ssl.client.auth is set for listener SSL",
        ),
    ],
)
def test_who_needs_a_secret(chosen: dict[str, str], why: str | None) -> None:
    assert why_secret_is_required(BrokerConfig(chosen)) == why


@pytest.mark.parametrize("chosen", [SASL, {**PLAINTEXT, **RULES}])
def test_a_node_of_several_does_not_start_without_a_secret(
    tmp_path: Path, chosen: dict[str, str]
) -> None:
    others = {"controller.quorum.voters": "2@127.0.0.1:1", "node.id": "1"}
    with pytest.raises(ConfigError, match="the nodes share no secret"):
        asyncio.run(start(tmp_path, {**chosen, **others}))


@pytest.mark.parametrize("chosen", [SASL, {**PLAINTEXT, **RULES}])
def test_a_single_node_does_not_listen_before_its_secret_is_written(
    tmp_path: Path, chosen: dict[str, str]
) -> None:
    (tmp_path / "cluster.secret.tmp").mkdir()  # in the way of the file
    with pytest.raises(ConfigError, match=r"can't write .*cluster\.secret: Is a directory"):
        asyncio.run(start(tmp_path, chosen))


def test_an_open_node_starts_though_it_can_write_no_secret(tmp_path: Path) -> None:
    async def serve() -> None:
        await (await start(tmp_path, PLAINTEXT)).stop()

    (tmp_path / "cluster.secret.tmp").mkdir()
    asyncio.run(serve())


@pytest.mark.parametrize(("chosen", "others_may"), [(RULES, 0), ({}, 0o055)])
def test_only_the_owner_reads_the_data_of_a_node_with_access_rules(
    tmp_path: Path, chosen: dict[str, str], others_may: int
) -> None:
    async def serve(data: Path) -> None:
        await (await start(data, {**PLAINTEXT, **chosen})).stop()

    before = os.umask(0o022)
    try:
        asyncio.run(serve(tmp_path / "new"))
        (tmp_path / "there").mkdir()
        asyncio.run(serve(tmp_path / "there"))
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o077 == others_may
    assert (tmp_path / "there").stat().st_mode & 0o077 == 0o055, "the operator has made it"


def test_who_knows_the_cluster_id_is_not_a_node(tmp_path: Path) -> None:
    with SaslBroker(tmp_path) as broker, broker.connect() as client:
        meta = (broker.data / "meta.properties").read_text().splitlines()
        cluster_id = dict(line.split("=", 1) for line in meta)["cluster.id"]
        hellos = {}
        for claimed in (cluster_id, "x"):
            me = PeerIdentity(7, DIRECTORY)
            credentials = Credentials(me, claimed, key_of(None, claimed))
            hellos[claimed] = Prover(credentials, 1, bytes(32))
        assert client.ask(SaslHandshakeRequest("BARNABAS-NODE")).error_code == 0
        wrong = client.ask(SaslAuthenticateRequest(hellos["x"].hello))
        assert wrong.error_code
        assert cluster_id not in wrong.error_message
        guess = hellos[cluster_id]
        challenge = client.ask(SaslAuthenticateRequest(guess.hello))
        proof = guess.answer(bytes(challenge.auth_bytes))
        assert client.ask(SaslAuthenticateRequest(proof)).error_code
