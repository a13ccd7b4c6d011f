"""Secrets are not among the arguments of a process."""

from barnabas.cli.server.secret_settings import as_arguments, as_environment, take_from

SECRETS = {
    "plain.sasl.jaas.config": 'P required user_a="b=c";',
    "listener.name.clients.plain.sasl.jaas.config": 'P required user_a="d";',
}
OPEN = {"log.dirs": "data", "sasl.enabled.mechanisms": "PLAIN"}


def test_secrets_take_another_way() -> None:
    properties = OPEN | SECRETS
    assert as_arguments(properties) == ["log.dirs=data", "sasl.enabled.mechanisms=PLAIN"]
    environment = {"PATH": "/bin", **as_environment(properties)}
    assert take_from(environment) == [f"{name}={value}" for name, value in SECRETS.items()]
    assert environment == {"PATH": "/bin"}


def test_without_secrets_there_is_no_variable() -> None:
    assert as_environment(OPEN) == {}
    assert take_from({}) == []
