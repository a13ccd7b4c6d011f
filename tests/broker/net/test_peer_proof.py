"""Nodes authenticate each other, and clients can't pass for a node."""

import asyncio
from asyncio import Future
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from barnabas.broker.net.cluster_secret import new_secret
from barnabas.broker.net.peer_proof import (
    NOT_JOINED,
    Credentials,
    PeerIdentity,
    ProofError,
    Prover,
    Verifier,
    credentials_of,
    key_of,
    stretch,
)
from barnabas.broker.net.peers import Peers, PeerUnavailable, peer_client_id
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.peer_versions import versions_question
from barnabas.wire.framing import decode_request, decode_request_header, encode_response
from barnabas.wire.message import Request
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from barnabas.wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from barnabas.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.wire.messages.vote import PartitionData, TopicData, VoteRequest, VoteResponse
from barnabas.wire.primitives import Reader

NONCE, OTHER_NONCE = b"n" * 32, b"m" * 32


def credentials(
    node_id: int, *, cluster_id: str = "c", secret: bytes | None = b"secret"
) -> Credentials:
    identity = PeerIdentity(node_id, bytes([node_id]) * 16)
    return Credentials(identity, cluster_id, key_of(secret, cluster_id))


def test_both_sides_prove_that_they_know_the_secret() -> None:
    prover = Prover(credentials(2), 1, NONCE)
    verifier = Verifier(credentials(1), prover.hello, OTHER_NONCE)
    proof = prover.answer(verifier.challenge)
    peer, answer = verifier.check(proof)
    assert peer == (2, b"\2" * 16)
    prover.check(answer)
    assert b"secret" not in prover.hello + verifier.challenge + proof + answer


def test_a_stranger_gets_nothing_that_depends_on_the_secret() -> None:
    """With such a value it could try guesses at the secret without asking the node again."""
    hello = Prover(credentials(2, secret=b"a guess"), 1, NONCE).hello
    challenges, refusals = set(), set()
    for secret in (b"secret", b"another", None):
        verifier = Verifier(credentials(1, secret=secret), hello, OTHER_NONCE)
        challenges.add(verifier.challenge)
        with pytest.raises(ProofError) as refused:
            verifier.check(bytes(32))
        refusals.add(str(refused.value))
    assert len(challenges) == len(refusals) == 1


STEPS = [b"old", b"old\nnew", b"new\nold", b"new"]
"""The file of the secret while it is changed, on all nodes one after the other."""


@pytest.mark.parametrize("asks", STEPS)
@pytest.mark.parametrize("asked", STEPS)
def test_a_secret_that_is_changed_step_by_step(asks: bytes, asked: bytes) -> None:
    """Nodes of one step and the next understand each other; those that skip one may not."""
    two, one = (PeerIdentity(number, bytes([number]) * 16) for number in (2, 1))
    prover = Prover(credentials_of(two, "c", asks), 1, NONCE)
    verifier = Verifier(credentials_of(one, "c", asked), prover.hello, OTHER_NONCE)
    proof = prover.answer(verifier.challenge)
    if asks.partition(b"\n")[0] in asked.split(b"\n"):
        peer, answer = verifier.check(proof)
        assert peer == two
        prover.check(answer)
    else:
        assert abs(STEPS.index(asks) - STEPS.index(asked)) > 1
        with pytest.raises(ProofError, match="cluster secret differs"):
            verifier.check(proof)


@pytest.mark.parametrize("secret", [b"another", None])
def test_with_another_secret_neither_side_believes_the_other(secret: bytes | None) -> None:
    prover = Prover(credentials(2, secret=secret), 1, NONCE)
    verifier = Verifier(credentials(1), prover.hello, OTHER_NONCE)
    proof = prover.answer(verifier.challenge)
    for guess in (proof, b"", bytes(32), verifier.challenge):
        with pytest.raises(ProofError, match="cluster secret differs"):
            verifier.check(guess)
    right = Prover(credentials(2), 1, NONCE)
    _, answer = verifier.check(right.answer(verifier.challenge))
    for guess in (answer, proof, b"", bytes(32)):
        with pytest.raises(ProofError, match="cluster secret differs"):
            prover.check(guess)


def test_a_node_is_not_believed_before_it_has_sent_a_challenge() -> None:
    prover = Prover(credentials(2), 1, NONCE)
    for challenge in (b"", bytes(31), bytes(64)):
        with pytest.raises(ProofError, match="malformed"):
            prover.answer(challenge)
    with pytest.raises(ProofError):
        prover.check(b"")


def test_a_proof_sent_back_is_worth_nothing() -> None:
    """The two sides prove different things, so none can answer with what it was sent."""
    prover = Prover(credentials(2), 1, NONCE)
    with pytest.raises(ProofError):
        prover.check(prover.answer(OTHER_NONCE))


def test_an_old_proof_is_worth_nothing() -> None:
    prover = Prover(credentials(2), 1, NONCE)
    old = Verifier(credentials(1), prover.hello, OTHER_NONCE)
    proof = prover.answer(old.challenge)
    _, answer = old.check(proof)
    with pytest.raises(ProofError):
        Verifier(credentials(1), prover.hello, b"o" * 32).check(proof)
    again = Prover(credentials(2), 1, b"o" * 32)
    again.answer(old.challenge)
    with pytest.raises(ProofError):
        again.check(answer)


@pytest.mark.parametrize(
    "secret",
    [
        new_secret(bytes(range(200, 232))),
        b"Zm9yIHRlc3RzIG9ubHksIG5vdCBhIHJlYWwgc2VjcmU=",
        b"Zm9yIHRlc3RzIG9ubHksIG5vdCBhIHJlYWwgc2VjcmU",
        b"0123456789abcdef" * 4,
    ],
)
def test_random_bytes_are_not_stretched(secret: bytes) -> None:
    assert stretch(secret) == secret


@pytest.mark.parametrize("secret", [b"correct horse battery staple", b"0123456789abcdef" * 3])
def test_a_passphrase_is_stretched_once(secret: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    stretch.cache_clear()
    stretched = stretch(secret)
    assert secret not in stretched
    monkeypatch.setattr("barnabas.broker.net.peer_proof.scrypt", None)
    assert key_of(secret, "c") == key_of(secret, "d")


@pytest.mark.parametrize(
    ("hello", "why"),
    [
        (Prover(credentials(2), 3, NONCE).hello, "this is node 1, not node 3"),
        (
            Prover(credentials(2, cluster_id="d"), 1, NONCE).hello,
            "node 1 of another cluster$",
        ),
        (Prover(credentials(1), 1, NONCE).hello, "two nodes have one number"),
        (b"", "is malformed"),
        (b"\2" + b"\xff" * 24 + bytes(32), "is malformed"),
        (b"\2" + b"\xff" * 56, "is malformed"),
        (b"\1" + Prover(credentials(2), 1, NONCE).hello[1:], "has version 1, this release knows 2"),
        (Prover(credentials(2), 1, NONCE).hello + b"\xff", "is malformed"),
        (Prover(credentials(2), 1, NONCE).hello + b"x" * 1000, "is malformed"),
    ],
)
def test_who_is_not_meant_is_told_so(hello: bytes, why: str) -> None:
    with pytest.raises(ProofError, match=why):
        Verifier(credentials(1), hello, OTHER_NONCE)


class Other(asyncio.Protocol):
    """Node 1, which may be anybody."""

    def __init__(self, stage: "Stage") -> None:
        self.stage = stage
        self.received = b""
        self.verifier: Verifier | None = None
        stage.connections += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.received += data
        while len(self.received) >= 4:
            size = int.from_bytes(self.received[:4], "big")
            if len(self.received) < 4 + size:
                return
            frame, self.received = self.received[4 : 4 + size], self.received[4 + size :]
            self.answer(frame)

    def answer(self, frame: bytes) -> None:
        r = Reader(frame)
        header = decode_request_header(r)
        kinds: dict[int, type[Request[Any]]] = {
            kind.API_KEY: kind
            for kind in (
                SaslHandshakeRequest,
                SaslAuthenticateRequest,
                ApiVersionsRequest,
                VoteRequest,
                DescribeClusterRequest,
            )
        }
        request = decode_request(r, kinds[header.api_key], header.api_version)
        response: Any
        match request:
            case SaslHandshakeRequest():
                response = SaslHandshakeResponse()
            case SaslAuthenticateRequest():
                response = self.authenticate(bytes(request.auth_bytes))
            case ApiVersionsRequest():
                response = ApiVersionsResponse(api_keys=self.stage.served)
            case _:
                self.stage.asked.append(type(request).__name__)
                self.stage.versions.append(header.api_version)
                response = VoteResponse()
                if isinstance(request, DescribeClusterRequest):
                    response = DescribeClusterResponse(cluster_id="c")
        if not self.stage.is_silent:
            self.transport.writelines(
                encode_response(response, header.api_version, header.correlation_id)
            )

    def authenticate(self, auth_bytes: bytes) -> SaslAuthenticateResponse:
        try:
            if self.verifier is None:
                if self.stage.theirs is None:
                    raise ProofError(NOT_JOINED)
                self.verifier = Verifier(self.stage.theirs, auth_bytes, OTHER_NONCE)
                return SaslAuthenticateResponse(auth_bytes=self.verifier.challenge)
            if self.stage.is_impostor:
                return SaslAuthenticateResponse(auth_bytes=auth_bytes)
            peer, answer = self.verifier.check(auth_bytes)
            self.stage.proved.append(peer.node_id)
        except ProofError as error:
            return SaslAuthenticateResponse(58, str(error))
        return SaslAuthenticateResponse(auth_bytes=answer)


class Stage:
    """Node 2, which asks node 1."""

    def __init__(self) -> None:
        self.mine: Credentials | None = credentials(2)
        self.theirs: Credentials | None = credentials(1)
        self.is_silent = False
        self.is_impostor = False
        """Whether node 1 accepts any proof, and has none itself."""
        self.asked: list[str] = []
        self.versions: list[int] = []
        self.served = [ApiVersion(VoteRequest.API_KEY, 0, 2)]
        self.proved: list[int] = []
        self.connections = 0

    async def listen(self) -> None:
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(lambda: Other(self), "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        self.peers = Peers(
            loop,
            Clock(),
            lambda _: [("127.0.0.1", port)],
            lambda _: None,
            peer_client_id(2),
            lambda: self.mine,
            lambda count: NONCE[:count],
        )

    def call(self, request: Request[Any], timeout_ms: int = 30_000) -> "Future[Any]":
        return self.peers.call(1, request, request.MAX_VERSION, timeout_ms=timeout_ms)


def play(scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        stage = Stage()
        await stage.listen()
        async with asyncio.timeout(60):
            await scenario(stage)
        stage.peers.close()
        stage.server.close()
        await asyncio.sleep(0)

    asyncio.run(run())


def test_a_proof_is_given_once_for_a_connection() -> None:
    async def scenario(stage: Stage) -> None:
        for _ in range(5):
            await stage.call(VoteRequest())
        assert stage.asked == ["VoteRequest"] * 5
        assert stage.proved == [2]
        assert stage.connections == 1

    play(scenario)


@pytest.mark.parametrize("theirs", [credentials(1, secret=b"x"), credentials(1, secret=None)])
def test_who_has_another_secret_is_asked_nothing(
    theirs: Credentials, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.theirs = theirs
        for _ in range(3):
            with pytest.raises(PeerUnavailable):
                await stage.call(VoteRequest())
        assert not stage.asked
        assert not stage.proved
        assert len([r for r in caplog.records if "cluster.secret.file" in r.message]) == 1
        stage.theirs = credentials(1)
        await stage.call(VoteRequest())

    play(scenario)


def test_who_accepts_a_proof_and_has_none_is_asked_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.is_impostor = True
        for request in (VoteRequest(), DescribeClusterRequest()):
            with pytest.raises(PeerUnavailable, match="its cluster secret differs"):
                await stage.call(request)
        assert not stage.asked
        assert len([r for r in caplog.records if "cluster.secret.file" in r.message]) == 1
        stage.is_impostor = False
        await stage.call(VoteRequest())

    play(scenario)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (None, credentials(1)),
        (credentials(2), None),
        (credentials(2), credentials(1, cluster_id="d")),
        (credentials(2), credentials(3)),
    ],
)
def test_before_they_know_each_other_nodes_only_ask_who_it_is(
    mine: Credentials | None, theirs: Credentials | None
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.mine, stage.theirs = mine, theirs
        assert (await stage.call(DescribeClusterRequest())).cluster_id == "c"
        with pytest.raises(PeerUnavailable, match="not known to be a peer"):
            await stage.call(VoteRequest())
        assert stage.asked == ["DescribeClusterRequest"]
        assert not stage.proved
        stage.mine, stage.theirs = credentials(2), credentials(1)
        await stage.call(VoteRequest())
        assert stage.proved == [2], "as soon as both are in the cluster"

    play(scenario)


def test_a_node_that_has_not_joined_yet_is_waited_for_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As a new cluster begins, its nodes join one after the other."""
    caplog.set_level("INFO")

    async def scenario(stage: Stage) -> None:
        stage.theirs = None
        for _ in range(3):
            with pytest.raises(PeerUnavailable):
                await stage.call(VoteRequest())
        said = [record for record in caplog.records if "joined" in record.message]
        assert [record.levelname for record in said] == ["INFO"]
        assert said[0].message == "waiting for node 1, which has not joined a cluster yet"
        assert not [record for record in caplog.records if record.levelname == "WARNING"]

    play(scenario)


def test_who_does_not_answer_the_hello_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.net.peer_connection._PROOF_TIMEOUT_MS", 50)

    async def scenario(stage: Stage) -> None:
        stage.is_silent = True
        with pytest.raises(PeerUnavailable, match="not proved itself in time"):
            await stage.call(VoteRequest())
        stage.is_silent = False
        await stage.call(VoteRequest())

    play(scenario)


def test_requests_go_in_the_newest_version_that_both_know() -> None:
    async def scenario(stage: Stage) -> None:
        stage.served = [ApiVersion(VoteRequest.API_KEY, 0, 1)]
        await stage.call(VoteRequest())
        assert stage.versions == [1]
        stage.peers.close()

    play(scenario)


def test_a_newer_node_is_sent_what_this_one_knows() -> None:
    async def scenario(stage: Stage) -> None:
        stage.served = [ApiVersion(VoteRequest.API_KEY, 1, 9)]
        await stage.call(VoteRequest())
        assert stage.versions == [VoteRequest.MAX_VERSION]

    play(scenario)


@pytest.mark.parametrize(
    ("served", "why"),
    [
        ([], "does not serve Vote: upgrade it"),
        ([ApiVersion(VoteRequest.API_KEY, 7, 9)], "serves Vote 7-9, this one 0-2: upgrade"),
    ],
)
def test_what_the_other_release_does_not_serve_fails_with_the_reason(
    served: list[ApiVersion], why: str
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.served = served
        with pytest.raises(PeerUnavailable, match=why):
            await stage.call(VoteRequest())
        assert stage.asked == []
        stage.served = [ApiVersion(VoteRequest.API_KEY, 0, 2)]
        assert stage.connections == 1  # it is kept for what the node does serve

    play(scenario)


def test_what_an_older_version_can_not_carry_is_not_sent() -> None:
    async def scenario(stage: Stage) -> None:
        stage.served = [ApiVersion(VoteRequest.API_KEY, 0, 1)]
        topic = TopicData("t", [PartitionData(pre_vote=True)])
        with pytest.raises(PeerUnavailable, match="version 1 can't carry pre_vote"):
            await stage.call(VoteRequest(topics=[topic]))
        await stage.call(VoteRequest())  # over the same connection
        assert stage.asked == ["VoteRequest"]
        assert stage.connections == 1

    play(scenario)


def test_a_local_version_is_told_in_characters_that_brokers_accept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barnabas.broker.runtime.peer_versions.__version__", "0.2.0+deb_1")
    assert versions_question().client_software_version == "0.2.0-deb-1"
