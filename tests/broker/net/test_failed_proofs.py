"""Who fails to prove that it is a node waits for the answer, and has to connect again."""

import time

import pytest

from barnabas.broker.net.peer_proof import MECHANISM, NONCE_BYTES
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.raw_client import RawClient
from tests.support.broker import BrokerProcess
from tests.support.peer import prover_of

DELAY_S = 0.1


def test_a_wrong_proof_is_answered_late_and_closes_the_connection(
    node: BrokerProcess, client: RawClient
) -> None:
    prover = prover_of(node, 9)
    with RawClient(node.host, node.port) as guesser:
        assert guesser.ask(SaslHandshakeRequest(MECHANISM)).error_code == 0
        challenge = guesser.ask(SaslAuthenticateRequest(prover.hello))
        assert challenge.error_code == 0
        assert len(challenge.auth_bytes) == NONCE_BYTES, "a nonce, and nothing of the secret"
        began = time.monotonic()
        frames = [
            guesser.frame(SaslAuthenticateRequest(bytes(32))),
            guesser.frame(MetadataRequest(None)),
        ]
        guesser.send_bytes(b"".join(frames))
        refused = guesser.receive()
        assert time.monotonic() - began >= DELAY_S
        assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert not refused.auth_bytes
        with pytest.raises((EOFError, OSError)):
            guesser.receive()
    assert client.ask(MetadataRequest(None)).brokers


def test_a_hello_that_is_refused_leaves_the_question_which_cluster_it_is(
    node: BrokerProcess, client: RawClient
) -> None:
    hello = prover_of(node, 9).hello
    assert client.ask(SaslHandshakeRequest(MECHANISM)).error_code == 0
    refused = client.ask(SaslAuthenticateRequest(hello + b"x"))
    assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.ask(DescribeClusterRequest()).cluster_id
