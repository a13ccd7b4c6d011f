"""`sasl.jaas.config`."""

import pytest

from barnabas.security.sasl.jaas import parse_jaas


def test_users_and_options() -> None:
    entry = parse_jaas(
        "org.apache.kafka.common.security.plain.PlainLoginModule required\n"
        '  username="admin"  password = "s;c=\\"r\\\\et"\n'
        'user_alice=plain-1 user_b.c="x y" user_="z" ;\n'
    )
    assert entry.module == "PlainLoginModule"
    assert entry.options["password"] == 's;c="r\\et'
    assert entry.users == {"alice": "plain-1", "b.c": "x y"}
    assert "plain-1" not in repr(entry)


def test_no_options() -> None:
    assert parse_jaas("ScramLoginModule required;").options == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "PlainLoginModule",
        "PlainLoginModule required",
        'PlainLoginModule password="hush";',
        'PlainLoginModule required password="hush"',
        'PlainLoginModule required password="hush;',
        "PlainLoginModule required password hush;",
        'PlainLoginModule required password="hush" x;',
        "PlainLoginModule required password='hush';",
        'PlainLoginModule required password="hush"; Other required;',
    ],
)
def test_other_texts_are_refused_without_showing_them(text: str) -> None:
    with pytest.raises(ValueError, match="JAAS") as refused:
        parse_jaas(text)
    assert "hush" not in str(refused.value)
