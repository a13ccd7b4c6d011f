"""Principals as text."""

import pytest

from barnabas.security.principal import ANONYMOUS, Principal


@pytest.mark.parametrize("text", ["User:alice", "User:CN=a,O=b:c", "Group:x"])
def test_text_and_back(text: str) -> None:
    assert str(Principal.parse(text)) == text


def test_the_anonymous_one_has_kafkas_name() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"


@pytest.mark.parametrize("text", ["", "alice", ":alice", "User:"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="User:NAME"):
        Principal.parse(text)
