"""How two nodes authenticate each other as members of one cluster.

The node that connects begins, in Kafka's SASL messages, with a private mechanism:

    SaslHandshake     BARNABAS-NODE
    SaslAuthenticate  hello: who I am, whom I mean, which cluster, a nonce
                   -> challenge: a nonce, and the proof of the node that was asked
    SaslAuthenticate  the proof of the node that asks
                   -> nothing: from here on the connection is that of a peer

A proof is an HMAC-SHA256 over the hello and both nonces with the cluster's key. So neither side
reveals the key, a replayed proof is rejected, and so is one made for another node.

The key comes from the cluster's secret. An open cluster without a secret uses its id, which any
client can request: that guards against mistakes and against clients that do not know this protocol,
but not against an attacker. Where clients sign in, show certificates or have rules, a node does not
start without a secret (`required_secret.py`).

While a secret is changed, nodes have two. The node that is asked proves itself with its first; the
node that asks accepts either, and answers with the one that it was shown.
"""

import hmac
from dataclasses import dataclass, field
from hashlib import sha256
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class
from typing import NamedTuple

MECHANISM = "BARNABAS-NODE"

_VERSION = 1
NONCE_BYTES = 32
_HELLO = Struct(f">bii16s{NONCE_BYTES}s")
_MAX_CLUSTER_ID = 256


class PeerIdentity(NamedTuple):
    """A node that has authenticated."""

    node_id: int
    directory_id: bytes


class ProofError(ValueError):
    """Why a node was not authenticated, as a message for the other side's log."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a node authenticates with."""

    me: PeerIdentity
    cluster_id: str
    key: bytes = field(repr=False)
    other_key: bytes | None = field(default=None, repr=False)
    """Accepted as well, while the secret is changed."""


def key_of(secret: bytes | None, cluster_id: str) -> bytes:
    """The key of a cluster with this secret; None: it has no secret."""
    source = b"id:" + cluster_id.encode() if secret is None else b"secret:" + secret
    return sha256(b"barnabas node key\0" + source).digest()


def credentials_of(me: PeerIdentity, cluster_id: str, secret: bytes | None) -> Credentials:
    """`secret` has two lines while it is changed."""
    current, _, other = (None, None, None) if secret is None else secret.partition(b"\n")
    other_key = key_of(other, cluster_id) if other else None
    return Credentials(me, cluster_id, key_of(current, cluster_id), other_key)


class Prover:
    """The side that connects."""

    __slots__ = ("_credentials", "_hello")

    def __init__(self, credentials: Credentials, receiver_id: int, nonce: bytes) -> None:
        self._credentials = credentials
        me = credentials.me
        self._hello = (
            _HELLO.pack(_VERSION, me.node_id, receiver_id, me.directory_id, nonce)
            + credentials.cluster_id.encode()
        )

    @property
    def hello(self) -> bytes:
        return self._hello

    def answer(self, challenge: bytes) -> bytes:
        """This node's proof. Raises `ProofError` if the other side's is wrong."""
        nonce, proof = challenge[:NONCE_BYTES], challenge[NONCE_BYTES:]
        for key in (self._credentials.key, self._credentials.other_key):
            if key is not None and hmac.compare_digest(
                proof, _proof(key, b"asked", nonce, self._hello)
            ):
                return _proof(key, b"asks", nonce, self._hello)
        raise ProofError("its cluster secret differs from this node's")


class Verifier:
    """The side that accepts the connection: its state between the hello and the proof."""

    __slots__ = ("_expected", "challenge", "peer")

    def __init__(self, credentials: Credentials, hello: bytes, nonce: bytes) -> None:
        """Raises `ProofError`."""
        try:
            version, node_id, receiver_id, directory_id, _ = _HELLO.unpack_from(hello)
            cluster_id = hello[_HELLO.size :].decode()
        except (ValueError, OverflowError, StructError) as error:
            raise ProofError("the proof of a node is malformed") from error
        if version != _VERSION or len(cluster_id) > _MAX_CLUSTER_ID or node_id < 0:
            raise ProofError("the proof of a node is malformed")
        me = credentials.me
        if cluster_id != credentials.cluster_id:
            # Not which: without a secret, the key comes from the id.
            raise ProofError(f"this is node {me.node_id} of another cluster")
        if receiver_id != me.node_id:
            raise ProofError(f"this is node {me.node_id}, not node {receiver_id}")
        if node_id == me.node_id:
            raise ProofError(f"this is node {node_id} itself: two nodes have one number")
        self.peer = PeerIdentity(node_id, directory_id)
        self.challenge = nonce + _proof(credentials.key, b"asked", nonce, hello)
        self._expected = _proof(credentials.key, b"asks", nonce, hello)

    def check(self, proof: bytes) -> PeerIdentity:
        """Raises `ProofError`."""
        if not hmac.compare_digest(proof, self._expected):
            raise ProofError("your cluster secret differs from this node's")
        return self.peer


def _proof(key: bytes, role: bytes, nonce: bytes, hello: bytes) -> bytes:
    return hmac.digest(key, role + b"\0" + nonce + hello, "sha256")
