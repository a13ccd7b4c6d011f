"""Kafka's settings for secure connections."""

import pytest

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.sasl_login import SaslLogin
from barnabas.client.connect.security_settings import (
    NO_SECURITY,
    security_settings,
)
from barnabas.errors import InvalidArgument
from barnabas.tls.tls_files import Pem
from barnabas.wire.endpoint import SecurityProtocol


def test_nothing() -> None:
    assert security_settings(None) == security_settings({}) == NO_SECURITY
    assert NO_SECURITY.protocol is SecurityProtocol.PLAINTEXT


def test_the_names_of_librdkafka_and_of_java() -> None:
    given = security_settings(
        {
            "security.protocol": "ssl",
            "ssl.ca.location": "ca.pem",
            "ssl.certificate.location": "me.crt",
            "ssl.key.location": "me.key",
            "ssl.key.password": "sesame",
        }
    )
    assert given.protocol is SecurityProtocol.SSL
    assert given.check_hostname
    assert given.tls.paths == ("me.crt", "me.key", "ca.pem")
    java = security_settings(
        {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "ca.pem",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.keystore.key": "KEY",
            "ssl.endpoint.identification.algorithm": "",
            "ssl.enabled.protocols": "TLSv1.3",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "sesame",
        }
    )
    assert java.tls.certificate == Pem("ssl.keystore.certificate.chain", text="CHAIN")
    assert java.tls.versions == ("TLSv1.3",)
    assert not java.check_hostname
    assert (java.sasl_mechanism, java.sasl_username) == ("PLAIN", "alice")
    for secret in ("sesame", "KEY"):
        assert secret not in f"{given!r}{java!r}".replace("KEYS", "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"security.protocol": "TLS"}, "unknown security.protocol 'TLS'; use one of PLAINTEXT"),
        ({"ssl.ca.locaton": "x"}, "did you mean 'ssl.ca.location'"),
        ({"ssl.ca.location": "x"}, "has no effect with security.protocol=PLAINTEXT"),
        ({"ssl.truststore.type": "JKS"}, "convert the store to PEM"),
        ({"ssl.ca.location": "x", "ssl.truststore.location": "x"}, "cannot be combined"),
        ({"ssl.key.location": "x"}, "needs ssl.certificate.location"),
        ({"ssl.enabled.protocols": "SSLv3"}, "TLSv1.2, TLSv1.3"),
        ({"ssl.endpoint.identification.algorithm": "http"}, "use https"),
    ],
)
def test_what_is_refused(settings: dict[str, str], message: str) -> None:
    protocol = {} if "no effect" in message else {"security.protocol": "SSL"}
    with pytest.raises(InvalidArgument, match=message):
        security_settings(protocol | settings)


def test_values_of_another_type() -> None:
    with pytest.raises(TypeError, match=r"'ssl.key.password' must be a str"):
        security_settings({"ssl.key.password": 1})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs sasl.mechanism: one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"sasl.mechanism": "GSSAPI"}, "not GSSAPI"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "needs sasl.oauthbearer.token"),
        (
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": "https://idp/hush",
            },
            r"needs sasl.oauthbearer.client.credentials.client.id and .secret",
        ),
        (
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": "http://idp.example.com/hush",
                "sasl.oauthbearer.client.id": "me",
                "sasl.oauthbearer.client.secret": "hush",
            },
            "begins with https://",
        ),
        (
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": "https://idp/hush",
                "sasl.jaas.config": 'X required clientId="me" clientSecret="hush";',
                "https.ca.location": "/nowhere",
            },
            "https.ca.location=/nowhere: No such file",
        ),
        ({"sasl.mechanism": "PLAIN"}, r"needs sasl.username and sasl.password"),
        ({"sasl.mechanism": "PLAIN", "sasl.password": "hush"}, r"needs sasl.username"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": "password=hush"}, "JAAS"),
        (
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": "x;", "sasl.password": "hush"},
            "cannot be combined",
        ),
    ],
)
def test_sign_in_is_not_left_out_silently(settings: dict[str, str], message: str) -> None:
    security = security_settings({"security.protocol": "SASL_SSL"} | settings)
    with pytest.raises(InvalidArgument, match=message) as refused:
        ClusterClient("localhost", security=security)
    assert "hush" not in str(refused.value)


def test_who_signs_in() -> None:
    protocol = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "scram-sha-256"}
    jaas = 'ScramLoginModule required username="alice" password="hush";'
    logins = [
        SaslLogin.of(security_settings(protocol | settings))
        for settings in (
            {"sasl.username": "alice", "sasl.password": "hush"},
            {"sasl.jaas.config": jaas},
        )
    ]
    assert logins[0] == logins[1] == SaslLogin("SCRAM-SHA-256", "alice", "hush")
    assert "hush" not in repr(logins)
    assert SaslLogin.of(NO_SECURITY) is None
    with pytest.raises(InvalidArgument, match=r"sasl.username has no effect"):
        security_settings({"sasl.username": "alice"})
