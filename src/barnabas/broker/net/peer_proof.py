"""How two nodes authenticate each other as members of one cluster.

The node that connects begins, in Kafka's SASL messages, with a private mechanism:

    SaslHandshake     BARNABAS-NODE
    SaslAuthenticate  hello: who I am, whom I mean, which cluster, a nonce
                   -> challenge: a nonce
    SaslAuthenticate  the proof of the node that asks
                   -> the proof of the node that was asked: from here on the connection is that of
                      a peer

A proof is an HMAC-SHA256 over the hello and both nonces with the cluster's key. So neither side
reveals the key, a replayed proof is rejected, and so is one made for another node.

The node that asks goes first. Anyone can connect to a node, and with a value derived from the key
could test guesses at the secret offline, as many as a computer can. So a node gives such a value
only to a node that has proved itself, and to the addresses that it connects to itself.

The key comes from the cluster's secret. Unless the secret is 32 random bytes, it is stretched with
scrypt, which makes each guess slow. An open cluster without a secret uses its id, which any client
can request: that guards against mistakes and against clients that do not know this protocol, but
not against an attacker. Where clients sign in, show certificates or have rules, a node does not
start without a secret (`required_secret.py`).

While a secret is changed, nodes have two. The node that asks proves itself with its first; the node
that is asked accepts either, and answers with the one that it was shown.
"""

import hmac
import re
from dataclasses import dataclass, field
from functools import cache
from hashlib import scrypt, sha256
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class
from typing import NamedTuple

MECHANISM = "BARNABAS-NODE"

_VERSION = 2
NONCE_BYTES = 32
_HELLO = Struct(f">bii16s{NONCE_BYTES}s")
_MAX_CLUSTER_ID = 256
_RANDOM_SECRET = re.compile(rb"[A-Za-z0-9+/_-]{43}=?|[0-9A-Fa-f]{64}")
"""32 random bytes in base64 or in hex, as this software and `openssl rand` write them."""
_SCRYPT_SALT = b"barnabas cluster secret"
"""The same on all nodes, and known before a node knows its cluster's id."""
_SCRYPT_COST, _SCRYPT_BLOCK = 1 << 14, 8
"""16 MiB, and some 70 ms of a CPU."""


class PeerIdentity(NamedTuple):
    """A node that has authenticated."""

    node_id: int
    directory_id: bytes


NOT_JOINED = "this node has not joined a cluster yet"
"""Why a node proves nothing while a new cluster begins: it is no failure, and passes."""


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
    source = b"id:" + cluster_id.encode() if secret is None else b"secret:" + stretch(secret)
    return sha256(b"barnabas node key\0" + source).digest()


@cache
def stretch(secret: bytes) -> bytes:
    """The secret, made slow to guess unless it can't be guessed anyway."""
    if _RANDOM_SECRET.fullmatch(secret):
        return secret
    return scrypt(secret, salt=_SCRYPT_SALT, n=_SCRYPT_COST, r=_SCRYPT_BLOCK, p=1, dklen=32)


def secrets_of(secret: bytes) -> list[bytes]:
    """The secret that a node uses, and the other that it accepts while the secret is changed."""
    return secret.split(b"\n")


def credentials_of(me: PeerIdentity, cluster_id: str, secret: bytes | None) -> Credentials:
    """`secret` has two lines while it is changed."""
    current, *others = [None] if secret is None else secrets_of(secret)
    other_key = key_of(others[0], cluster_id) if others else None
    return Credentials(me, cluster_id, key_of(current, cluster_id), other_key)


class Prover:
    """The side that connects."""

    __slots__ = ("_credentials", "_expected", "_hello")

    def __init__(self, credentials: Credentials, receiver_id: int, nonce: bytes) -> None:
        self._credentials = credentials
        self._expected: bytes | None = None
        me = credentials.me
        self._hello = (
            _HELLO.pack(_VERSION, me.node_id, receiver_id, me.directory_id, nonce)
            + credentials.cluster_id.encode()
        )

    @property
    def hello(self) -> bytes:
        return self._hello

    def answer(self, challenge: bytes) -> bytes:
        """This node's proof. Raises `ProofError` if the challenge is malformed."""
        if len(challenge) != NONCE_BYTES:
            raise ProofError("its challenge is malformed")
        key = self._credentials.key
        self._expected = _proof(key, b"asked", challenge, self._hello)
        return _proof(key, b"asks", challenge, self._hello)

    def check(self, proof: bytes) -> None:
        """Raises `ProofError` if the other side's proof is wrong."""
        if self._expected is None or not hmac.compare_digest(proof, self._expected):
            raise ProofError("its cluster secret differs from this node's")


class Verifier:
    """The side that accepts the connection: its state between the hello and the proof."""

    __slots__ = ("_credentials", "_hello", "_me_id", "_peer", "challenge")

    def __init__(self, credentials: Credentials, hello: bytes, nonce: bytes) -> None:
        """Raises `ProofError`."""
        try:
            version, node_id, receiver_id, directory_id, _ = _HELLO.unpack_from(hello)
            cluster_id = hello[_HELLO.size :].decode()
        except (ValueError, OverflowError, StructError) as error:
            raise ProofError("the proof of a node is malformed") from error
        if version != _VERSION:
            raise ProofError(
                f"the proof of a node has version {version}, this release knows {_VERSION}"
            )
        if len(cluster_id) > _MAX_CLUSTER_ID or node_id < 0:
            raise ProofError("the proof of a node is malformed")
        me = credentials.me
        if cluster_id != credentials.cluster_id:
            # Not which: without a secret, the key comes from the id.
            raise ProofError(f"this is node {me.node_id} of another cluster")
        if receiver_id != me.node_id:
            raise ProofError(f"this is node {me.node_id}, not node {receiver_id}")
        if node_id == me.node_id:
            raise ProofError(f"this is node {node_id} itself: two nodes have one number")
        self._credentials = credentials
        self._hello = hello
        self._me_id = me.node_id
        self._peer = PeerIdentity(node_id, directory_id)
        self.challenge = nonce

    def check(self, proof: bytes) -> tuple[PeerIdentity, bytes]:
        """The other node, and this node's proof for it. Raises `ProofError`."""
        for key in (self._credentials.key, self._credentials.other_key):
            if key is None:
                continue
            expected = _proof(key, b"asks", self.challenge, self._hello)
            if hmac.compare_digest(proof, expected):
                return self._peer, _proof(key, b"asked", self.challenge, self._hello)
        peer = self._peer.node_id
        raise ProofError(f"node {peer}'s cluster secret differs from that of node {self._me_id}")


def _proof(key: bytes, role: bytes, nonce: bytes, hello: bytes) -> bytes:
    return hmac.digest(key, role + b"\0" + nonce + hello, "sha256")
