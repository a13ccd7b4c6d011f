"""Secrets in settings of connectors and nodes, and records of masked topics, are not written."""

from typing import Any

import pytest

from barnabas.console.access.audit import _without, audited
from barnabas.console.answers import ApiError
from barnabas.console.api.connector_changes import settings_after
from barnabas.console.api.connectors import shown_connector
from barnabas.console.api.endpoints import ENDPOINTS
from barnabas.console.messages.masking import Masks, parse_mask
from barnabas.security.secret_settings import HIDDEN, is_secret, shown_setting, without_credentials

NO_MASKS = Masks(())
BY_NAME = {each.operation: each for each in ENDPOINTS}


@pytest.mark.parametrize(
    "name",
    [
        "sasl.jaas.config",
        "producer.override.sasl.jaas.config",
        "connection.url",
        "connection.uri",
        "database_password",
        "ssl.keystore.key",
        "aws.access.key",
        "api.key",
        "azure.storage.account.key",
        "azure.eventhub.connection.string",
        "value.converter.basic.auth.user.info",
        "listener.name.internal.ssl.key.password",
        "http.headers",
    ],
)
def test_settings_that_are_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["key.converter", "log.retention.ms", "topics", "ssl.protocol"])
def test_settings_that_are_shown(name: str) -> None:
    assert not is_secret(name)


def test_a_connector_is_shown_without_its_secrets() -> None:
    config = {
        "sasl.jaas.config": "required password=hunter2",
        "connection.url": "jdbc:postgresql://ada:hunter2@db/shop",
        "servers": "http://ada:hunter2@search:9200",
        "key.converter": "StringConverter",
    }
    status = {"tasks": [{"id": 0, "trace": "no answer of mongodb://ada:hunter2@db/"}]}
    shown = shown_connector("sink", {"info": {"config": config}, "status": status}, [], NO_MASKS)
    assert "hunter2" not in str(shown)
    assert shown["config"]["key.converter"] == "StringConverter"
    assert shown["config"]["servers"] == "http://(hidden)@search:9200"
    assert without_credentials("see https://example.com/a@b") == "see https://example.com/a@b"


def test_passwords_of_nodes_are_not_audited() -> None:
    settings = {
        "ssl.keystore.password": "hunter2",
        "log.retention.ms": "5",
        "ssl.key.password": None,
    }
    arguments = {"node": 1, "settings": settings}
    shown = audited(BY_NAME["change_node_settings"], arguments, NO_MASKS)
    assert shown["settings"] == {
        "ssl.keystore.password": HIDDEN,
        "log.retention.ms": "5",
        "ssl.key.password": None,
    }
    said = _without("failed: hunter2 is no keystore's password", arguments, shown)
    assert said == "failed: (hidden) is no keystore's password"
    user = {"name": "ada", "password": "hunter2"}
    assert "hunter2" not in str(audited(BY_NAME["put_user"], user, NO_MASKS))


def test_records_of_masked_topics_are_not_audited() -> None:
    record: dict[str, Any] = {
        "topic": "payments",
        "key": "4111",
        "value": '{"card": "4111"}',
        "headers": [["auth", "4111"]],
        "partition": 0,
    }
    masks = Masks([parse_mask("pay*:$.card")])
    shown = audited(BY_NAME["send_message"], record, masks)
    assert "4111" not in str(shown)
    assert (shown["topic"], shown["partition"], shown["value"]) == ("payments", 0, HIDDEN)
    assert audited(BY_NAME["send_message"], record, NO_MASKS) == record
    assert audited(BY_NAME["send_message"], {**record, "topic": "orders"}, masks)["key"] == "4111"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("url=jdbc:pg://db/shop?user=a&password=7f3a&ssl=1", "password=(hidden)&ssl=1"),
        ("WITH (token = '7f3a x', rows = 5)", "WITH (token = '(hidden)', rows = 5)"),
        ('{"client_secret": "7f3a", "rows": 5}', '{"client_secret": "(hidden)", "rows": 5}'),
        ("at postgresql://ada:7f3a@x@db/shop", "at postgresql://(hidden)@db/shop"),
        ("Authorization: Bearer 7f3a7f3a7f3a", "Bearer (hidden)"),
        ("password: expected string", "password: expected string"),
    ],
)
def test_secrets_inside_texts_are_hidden(text: str, shown: str) -> None:
    assert shown in without_credentials(text)
    assert "7f3a" not in without_credentials(text)
    assert without_credentials(without_credentials(text)) == without_credentials(text)


SQL = "INSERT INTO s SELECT * FROM t WITH (url='postgresql://ada:7f3a@db/shop', password='9b2c')"


def test_secrets_inside_texts_are_neither_shown_nor_audited() -> None:
    status = {"tasks": [{"id": 0, "trace": "wrong: 9b2c"}]}
    shown = shown_connector(
        "sink", {"info": {"config": {"pipeline.sql": SQL}}, "status": status}, [], NO_MASKS
    )
    arguments = {"name": "sink", "config": {"pipeline.sql": SQL, "retries": 3}, "like": None}
    audit = audited(BY_NAME["change_connector"], arguments, NO_MASKS)
    assert audit["config"] == {**shown["config"], "retries": 3}
    outcome = _without("failed: can't connect with 7f3a and 9b2c", arguments, audit)
    for text in (str(shown), str(audit), outcome):
        assert "7f3a" not in text
        assert "9b2c" not in text


def test_an_edited_text_gets_its_secrets_back() -> None:
    known = {"pipeline.sql": SQL, "connection.url": "pg://ada:7f3a@db/shop"}
    shown = {name: shown_setting(name, each) for name, each in known.items()}

    def change(old: str, new: str) -> str:
        edited = {"pipeline.sql": shown["pipeline.sql"].replace(old, new)}
        return settings_after(known, edited, keep=True)["pipeline.sql"]

    assert settings_after(known, dict(shown), keep=False) == known
    assert change("INTO s", "INTO s2") == SQL.replace("INTO s", "INTO s2")
    assert change("password='(hidden)'", "password='new'") == SQL.replace("9b2c", "new")
    assert change("/shop", "/new") == SQL.replace("/shop", "/new")
    assert change(", password='(hidden)'", "") == SQL.replace(", password='9b2c'", "")
    for old, new in (
        ("@db/", "@db.evil/"),
        ("@db/", "@evil/"),
        ("password=", "note="),
        ("t W", HIDDEN),
    ):
        with pytest.raises(ApiError, match=r"pipeline\.sql: it is not clear") as refused:
            change(old, new)
        assert refused.value.status == 400
    with pytest.raises(ApiError, match=r"connection\.url"):
        settings_after(known, {"connection.url": "pg://(hidden)@evil/shop"}, keep=True)


def test_a_long_argument_is_cut_and_has_no_secret() -> None:
    text = "x" * 990 + " password=" + "7f3a" * 300
    shown = audited(BY_NAME["send_message"], {"topic": "t", "value": text}, NO_MASKS)["value"]
    assert shown.endswith("… (2200 characters)")
    assert "7f3a" not in shown
