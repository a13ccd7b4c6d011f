"""Brokers whose clients sign in, and signing in over a plain socket."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barnabas.embedded.ports import Ports
from barnabas.security.sasl.exchange import ClientExchange
from barnabas.security.sasl.plain import PlainClient
from barnabas.security.sasl.scram_client import ScramClient
from barnabas.security.sasl.scram_credential import ScramMechanism
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.raw_client import RawClient
from tests.support.broker import BrokerProcess
from tests.support.cluster import ClusterProcesses

PLAIN_PASSWORD = "wonder;land-1865"
SCRAM_PASSWORD = "buïlder=2,x"
ADMIN = ("alice", PLAIN_PASSWORD)
SECURITY = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": ADMIN[0],
    "sasl.password": ADMIN[1],
}
"""Settings of a client that signs in as `ADMIN`."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_JAAS = f'PlainLoginModule required user_alice="{PLAIN_PASSWORD}" user_carol="hatter";'
SASL_SETTINGS = {
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "listener.name.clients.plain.sasl.jaas.config": _JAAS,
}


class SaslBroker(BrokerProcess):
    """A node with an open listener, one with SASL, and one with sessions of one second."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        self._ports = Ports(3)
        open_port, self.sasl_port, self.short_port = self._ports.numbers
        super().__init__(
            directory,
            {
                "listeners": f"PLAINTEXT://127.0.0.1:{open_port},"
                f"CLIENTS://127.0.0.1:{self.sasl_port},SHORT://127.0.0.1:{self.short_port}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT,"
                "SHORT:SASL_PLAINTEXT",
                "listener.name.short.plain.sasl.jaas.config": _JAAS,
                "listener.name.short.connections.max.reauth.ms": "1000",
                **SASL_SETTINGS,
                **(settings or {}),
            },
        )

    def command(self) -> list[str]:
        properties = {"log.dirs": str(self.data)} | self.settings
        pairs = [f"{name}={value}" for name, value in properties.items()]
        return [sys.executable, "-m", "barnabas.broker.server", *pairs]

    def kill(self) -> None:
        super().kill()
        self._ports.close()

    @property
    def sasl_bootstrap(self) -> str:
        return f"127.0.0.1:{self.sasl_port}"

    def connect(self, *, short: bool = False, timeout_s: float = 10) -> RawClient:
        port = self.short_port if short else self.sasl_port
        return RawClient("127.0.0.1", port, timeout_s=timeout_s)


class SaslCluster(ClusterProcesses):
    """Nodes that also reach each other by the listener with SASL.

    The open listener is for the tests' own questions.
    """

    def __init__(
        self,
        directory: Path,
        nodes: int = 3,
        settings: Mapping[str, str] | None = None,
        protocol: str = "SASL_PLAINTEXT",
    ) -> None:
        super().__init__(directory, nodes, {**SASL_SETTINGS, **(settings or {})})
        self._sasl_ports = Ports(nodes)
        by_node = dict(zip(self.nodes, self._sasl_ports.numbers, strict=True))
        voters = ",".join(f"{each}@127.0.0.1:{port}" for each, port in by_node.items())
        for node_id, node in self.nodes.items():
            node.settings |= {
                "listeners": f"PLAINTEXT://{node.bootstrap},CLIENTS://127.0.0.1:{by_node[node_id]}",
                "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CLIENTS:{protocol}",
                "inter.broker.listener.name": "CLIENTS",
                "controller.quorum.voters": voters,
            }
        self.sasl_bootstrap = ",".join(f"127.0.0.1:{port}" for port in by_node.values())

    def close(self) -> None:
        super().close()
        self._sasl_ports.close()


def exchange(mechanism: str, user: str, password: str) -> ClientExchange:
    kind = ScramMechanism.named(mechanism)
    if kind is None:
        return PlainClient(user, password)
    return ScramClient(kind, user, password, "some-nonce")


def sign_in(client: RawClient, mechanism: str, user: str, password: str) -> Any:
    """Sign in; returns the last answer, which may be a refusal."""
    return sign_in_by(client, mechanism, exchange(mechanism, user, password))


def sign_in_by(client: RawClient, mechanism: str, steps: ClientExchange) -> Any:
    shaken = client.ask(SaslHandshakeRequest(mechanism))
    if shaken.error_code:
        return shaken
    message: bytes | None = steps.first()
    while True:
        assert message is not None
        answer = client.ask(SaslAuthenticateRequest(message))
        if answer.error_code:
            return answer
        message = steps.step(bytes(answer.auth_bytes))
        if message is None:
            return answer
