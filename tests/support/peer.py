"""A raw connection that passes for a node's: it knows the cluster's secret."""

from pathlib import Path

from barnabas.broker.net.peer_proof import MECHANISM, Credentials, PeerIdentity, Prover, key_of
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.raw_client import RawClient
from tests.support.broker import BrokerProcess

DIRECTORY = b"another directory"[:16]


def secret_of(broker: BrokerProcess) -> bytes | None:
    named = broker.settings.get("cluster.secret.file")
    path = Path(named) if named else broker.data / "cluster.secret"
    return path.read_bytes().strip() if path.exists() else None


def prover_of(broker: BrokerProcess, node_id: int, secret: bytes | None = None) -> Prover:
    """Proves to `broker` that one is node `node_id` of its cluster."""
    lines = (broker.data / "meta.properties").read_text().splitlines()
    meta = dict(line.split("=", 1) for line in lines)
    key = key_of(secret or secret_of(broker), meta["cluster.id"])
    credentials = Credentials(PeerIdentity(node_id, DIRECTORY), meta["cluster.id"], key)
    return Prover(credentials, int(meta["node.id"]), bytes(range(32)))


def prove(client: RawClient, broker: BrokerProcess, node_id: int) -> RawClient:
    """Make a client's connection that of a node."""
    prover = prover_of(broker, node_id)
    assert client.ask(SaslHandshakeRequest(MECHANISM)).error_code == 0
    challenge = client.ask(SaslAuthenticateRequest(prover.hello))
    assert challenge.error_code == 0, challenge.error_message
    proved = client.ask(SaslAuthenticateRequest(prover.answer(bytes(challenge.auth_bytes))))
    assert proved.error_code == 0, proved.error_message
    prover.check(bytes(proved.auth_bytes))
    return client
