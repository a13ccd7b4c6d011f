"""Users connect with their own credentials, whatever the console signs in with."""

import pytest

from barnabas.client.connect.sasl_login import SaslLogin
from barnabas.client.connect.security_settings import security_settings
from barnabas.client.users.user_security import user_security
from barnabas.console.options import ConsoleOptions
from barnabas.errors import InvalidArgument

TOKEN = {"security.protocol": "SASL_SSL", "sasl.oauthbearer.token": "the console's token"}


@pytest.mark.parametrize("name", ["sasl.mechanism", "sasl.mechanisms"])
@pytest.mark.parametrize("mechanism", ["OAUTHBEARER", "oauthbearer", "GSSAPI"])
def test_no_sign_in_where_passwords_would_not_be_checked(name: str, mechanism: str) -> None:
    with pytest.raises(InvalidArgument, match=r"by sasl\.mechanism=.*use SCRAM-SHA-512"):
        ConsoleOptions("localhost:9092", {**TOKEN, name: mechanism}, sign_in=True)
    ConsoleOptions("localhost:9092", {**TOKEN, name: mechanism})  # its own user, on localhost


@pytest.mark.parametrize(
    "own",
    [
        {"sasl.mechanisms": "PLAIN", "sasl.username": "root", "sasl.password": "secret"},
        {"sasl.mechanism": "scram-sha-256", "sasl.jaas.config": "x", "sasl.tokenauth": "true"},
        {"sasl.oauthbearer.token": "secret", "https.ca.location": "ca.pem"},
        {},
    ],
)
def test_a_user_gets_the_encryption_and_no_credentials(own: dict[str, str]) -> None:
    shared = {"security.protocol": "sasl_ssl", "ssl.endpoint.identification.algorithm": ""}
    options = ConsoleOptions("localhost:9092", {**shared, **own}, sign_in=True)
    settings = user_security(options.security, "ada", "correct horse", None)
    assert settings == {
        "security.protocol": "SASL_SSL",
        "ssl.endpoint.identification.algorithm": "",
        "sasl.mechanism": options.mechanism,
        "sasl.username": "ada",
        "sasl.password": "correct horse",
    }
    login = SaslLogin.of(security_settings(settings))
    assert login is not None
    assert (login.user, login.password, login.token) == ("ada", "correct horse", None)
    assert user_security(options.security, "ada", "x", "PLAIN")["sasl.mechanism"] == "PLAIN"
