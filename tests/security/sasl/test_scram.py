"""SCRAM: the example of its RFC, kafka-python's client, and messages that are wrong."""

import base64
import hashlib
import hmac
from inspect import signature

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.scram import ScramClient as KafkaPythonClient

from barnabas.cli.admin import users as users_commands
from barnabas.client.admin.users import set_password
from barnabas.metadata.scram_image import ScramCredential
from barnabas.security.sasl.exchange import SaslError
from barnabas.security.sasl.initial_users import initial_user
from barnabas.security.sasl.scram_client import ScramClient
from barnabas.security.sasl.scram_credential import (
    DEFAULT_ITERATIONS,
    ScramMechanism,
    credential_of_salted_password,
    salted_password,
)
from barnabas.security.sasl.scram_messages import parse_client_first
from barnabas.security.sasl.scram_server import ScramServer, TokenLogin
from barnabas.security.sasl.unknown_users import credential_of

KEY = b"k" * 32
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
BOTH = pytest.mark.parametrize("mechanism", ScramMechanism)


def credential(
    mechanism: ScramMechanism, password: str, salt: bytes = b"salt" * 8, iterations: int = 4096
) -> ScramCredential:
    salted = salted_password(mechanism, password, salt, iterations)
    return credential_of_salted_password(mechanism, salt, salted, iterations)


def server(
    mechanism: ScramMechanism,
    users: dict[str, ScramCredential],
    nonce: str = "server",
    tokens: dict[str, TokenLogin] | None = None,
) -> ScramServer:
    shapes = {each.shape for each in users.values()}
    known = credential_of(mechanism, users, KEY, shapes)

    def token_of(token_id: str) -> TokenLogin:
        return (tokens or {}).get(token_id, TokenLogin(None, 0, known(token_id)))

    return ScramServer(mechanism, known, nonce, token_of)


def sign_in(client: ScramClient, broker: ScramServer) -> None:
    answer: bytes | None = client.first()
    while answer is not None:
        answer = client.step(broker.step(answer))


def test_the_example_of_rfc_7677() -> None:
    mechanism = ScramMechanism.SCRAM_SHA_256
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    users = {"user": credential(mechanism, "pencil", salt)}
    broker = server(mechanism, users, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    client = ScramClient(mechanism, "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    first = client.first()
    assert first == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = broker.step(first)
    assert challenge == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    proof = client.step(challenge)
    assert proof == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    final = broker.step(proof)
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert client.step(final) is None
    assert client.is_complete
    assert broker.user == "user"


@BOTH
@given(user=NAMES, password=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_every_user_and_password(mechanism: ScramMechanism, user: str, password: str) -> None:
    broker = server(mechanism, {user: credential(mechanism, password)})
    client = ScramClient(mechanism, user, password, "client")
    sign_in(client, broker)
    assert client.is_complete
    assert broker.user == user


@BOTH
def test_the_client_of_kafka_python(mechanism: ScramMechanism) -> None:
    broker = server(mechanism, {"alice": credential(mechanism, "secret")})
    client = KafkaPythonClient("alice", "secret", mechanism.label)
    client.process_server_first_message(broker.step(client.first_message()))
    client.process_server_final_message(broker.step(client.final_message()))
    assert broker.user == "alice"


@BOTH
def test_a_delegation_token(mechanism: ScramMechanism) -> None:
    """It signs in as its owner; as a user of that name nobody knows it, and a user is no token."""
    users = {"alice": credential(mechanism, "secret")}
    tokens = {"id": TokenLogin("alice", 99, credential(mechanism, "hmac"))}
    broker = server(mechanism, users, tokens=tokens)
    sign_in(ScramClient(mechanism, "id", "hmac", "client", is_token=True), broker)
    assert (broker.user, broker.claimed, broker.expires_ms) == ("alice", "id", 99)
    assert broker.is_by_token
    for user, password, is_token in [
        ("id", "hmac", False),
        ("alice", "secret", True),
        ("id", "other", True),
        ("unknown", "hmac", True),
    ]:
        broker = server(mechanism, users, tokens=tokens)
        with pytest.raises(SaslError, match="invalid user or password"):
            sign_in(ScramClient(mechanism, user, password, "client", is_token=is_token), broker)
        assert broker.user is None


def test_an_unknown_token_does_not_sign_in_even_if_its_credential_fits() -> None:
    mechanism = ScramMechanism.SCRAM_SHA_256
    tokens = {"id": TokenLogin(None, 0, credential(mechanism, "hmac"))}
    with pytest.raises(SaslError, match="invalid user or password"):
        sign_in(
            ScramClient(mechanism, "id", "hmac", "client", is_token=True),
            server(mechanism, {}, tokens=tokens),
        )


@BOTH
def test_wrong_passwords_and_unknown_users_look_the_same(mechanism: ScramMechanism) -> None:
    users = {"alice": credential(mechanism, "secret")}
    seen = []
    for user in ("alice", "nobody", "nobody"):
        broker, client = server(mechanism, users), ScramClient(mechanism, user, "guess", "client")
        challenge = broker.step(client.first())
        proof = client.step(challenge)
        assert proof is not None
        with pytest.raises(SaslError) as refused:
            broker.step(proof)
        assert broker.user is None
        seen.append((challenge, str(refused.value)))
    assert seen[1] == seen[2], "the salt of an unknown user changes"
    assert len(seen[0][0]) == len(seen[1][0])
    assert seen[0][1] == seen[1][1] == "invalid user or password"
    assert seen[0][0] != seen[1][0]


def test_made_up_credentials_have_the_shape_of_others() -> None:
    mechanism = ScramMechanism.SCRAM_SHA_512
    made_up = credential_of(mechanism, {}, KEY, [(8192, 64)])("nobody")
    assert (made_up.iterations, len(made_up.salt), len(made_up.stored_key)) == (8192, 64, 64)
    assert credential_of(mechanism, {}, KEY)("nobody") != credential_of(mechanism, {}, b"x")(
        "nobody"
    )


def test_a_rare_shape_does_not_show_who_is_a_user() -> None:
    """An administrator that was made with other iterations than everybody else."""
    mechanism = ScramMechanism.SCRAM_SHA_512
    few, usual, new = (16_384, 32), (4096, 32), (8192, 26)
    names = [f"stranger-{number}" for number in range(1_000)]

    def shapes(*known: tuple[int, int]) -> list[tuple[int, int]]:
        found = credential_of(mechanism, {}, KEY, known)
        return [found(name).shape for name in names]

    before = shapes(few, usual)
    assert before == shapes(usual, few), "nodes differ"
    assert 400 < before.count(few) < 600
    for old, now in zip(before, shapes(few, usual, new), strict=True):
        assert now in (old, new), "a name changes its shape for no reason"


def test_users_have_the_same_iterations_however_they_are_made() -> None:
    line = initial_user(ScramMechanism.SCRAM_SHA_512, "admin", "secret", b"s" * 32)
    assert f"iterations={DEFAULT_ITERATIONS}]" in line
    assert signature(set_password).parameters["iterations"].default == DEFAULT_ITERATIONS
    assert signature(users_commands.add).parameters["iterations"].default == DEFAULT_ITERATIONS
    made_up = credential_of(ScramMechanism.SCRAM_SHA_512, {}, KEY)("nobody")
    assert made_up.iterations == DEFAULT_ITERATIONS


@BOTH
def test_replayed_messages_are_refused(mechanism: ScramMechanism) -> None:
    users = {"alice": credential(mechanism, "secret")}
    client, broker = ScramClient(mechanism, "alice", "secret", "c"), server(mechanism, users, "s1")
    first = client.first()
    proof = client.step(broker.step(first))
    assert proof is not None
    broker.step(proof)
    with pytest.raises(SaslError, match="over"):
        broker.step(proof)
    again = server(mechanism, users, "s2")
    again.step(first)
    with pytest.raises(SaslError, match="nonce of another exchange"):
        again.step(proof)
    with pytest.raises(SaslError, match="over"):
        again.step(proof)
    assert again.user is None


def test_a_nonce_as_older_librdkafkas_send_it() -> None:
    mechanism = ScramMechanism.SCRAM_SHA_256
    salted = salted_password(mechanism, "secret", b"salt" * 8, 4096)
    key = hmac.digest(salted, b"Client Key", "sha256")
    for nonce, is_accepted in (("ccs", True), ("cs", True), ("xcs", False), ("s", False)):
        broker = server(mechanism, {"alice": credential(mechanism, "secret")}, "s")
        challenge = broker.step(b"n,,n=alice,r=c").decode()
        signed = f"n=alice,r=c,{challenge},c=biws,r={nonce}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        final = f"c=biws,r={nonce},p=".encode() + base64.b64encode(proof)
        if is_accepted:
            assert broker.step(final).startswith(b"v=")
        else:
            with pytest.raises(SaslError, match="nonce"):
                broker.step(final)


@BOTH
def test_a_broker_that_does_not_know_the_user_is_noticed(mechanism: ScramMechanism) -> None:
    client = ScramClient(mechanism, "alice", "secret", "client")
    client.first()
    client.step(b"r=clientserver,s=c2FsdA==,i=4096")
    with pytest.raises(SaslError, match="could not prove"):
        client.step(b"v=" + base64.b64encode(bytes(mechanism.key_bytes)))
    assert not client.is_complete


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"r=client,s=c2FsdA==,i=4096",
        b"r=othernonce,s=c2FsdA==,i=4096",
        b"r=clientserver,s=c2FsdA==,i=1",
        b"r=clientserver,s=c2FsdA==,i=999999999",
        b"r=clientserver,s=,i=4096",
        b"r=clientserver,s=?,i=4096",
        b"s=c2FsdA==,r=clientserver,i=4096",
        b"r=clientserver,s=c2FsdA==",
        b"\xff",
    ],
)
def test_challenges_that_make_no_sense(challenge: bytes) -> None:
    client = ScramClient(ScramMechanism.SCRAM_SHA_256, "alice", "secret", "client")
    client.first()
    with pytest.raises(SaslError) as refused:
        client.step(challenge)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,n=alice",
        b"n,,r=nonce,n=alice",
        b"n,,n=,r=nonce",
        b"n,,n=alice,r=",
        b"n,,n=alice,r=no nce",
        b"n,,n=alice,r=" + b"x" * 2000,
        b"n,,n=al=ice,r=nonce",
        b"n,,m=x,n=alice,r=nonce",
        b"p=tls-unique,,n=alice,r=nonce",
        b"n,a=bob,n=alice,r=nonce",
        b"n,b=alice,n=alice,r=nonce",
        b"n,,n=" + b"a" * 10_000 + b",r=nonce",
        b"n,,n=alice,r=nonce,x=" + b"y" * 10_000,
        b"\xff\xff",
    ],
)
def test_first_messages_that_make_no_sense(message: bytes) -> None:
    with pytest.raises(SaslError):
        parse_client_first(message)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"c=biws,r=clientserver",
        b"c=biws,p=AAAA",
        b"c=biws,r=clientserver,p=?",
        b"c=eSws,r=clientserver,p=AAAA",
        b"c=biws,r=clientserver,p=AAAA",
    ],
)
def test_last_messages_that_make_no_sense(message: bytes) -> None:
    mechanism = ScramMechanism.SCRAM_SHA_256
    broker = server(mechanism, {"alice": credential(mechanism, "secret")})
    broker.step(b"n,,n=alice,r=client")
    with pytest.raises(SaslError):
        broker.step(message)
    assert broker.user is None


def test_extensions_and_the_own_authorization_id_are_accepted() -> None:
    first = parse_client_first(b"y,a=a=2Cb,n=a=2Cb,r=nonce,tokenauth=true")
    assert (first.user, first.header) == ("a,b", "y,a=a=2Cb,")


def test_credentials_do_not_show_their_keys() -> None:
    shown = repr(credential(ScramMechanism.SCRAM_SHA_256, "secret"))
    assert shown == "ScramCredential(iterations=4096)"
