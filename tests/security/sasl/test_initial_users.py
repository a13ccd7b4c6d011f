"""Users that a new cluster begins with, as text."""

import pytest

from barnabas.security.sasl.initial_users import initial_user, parse_initial_users
from barnabas.security.sasl.scram_credential import (
    ScramMechanism,
    credential_of_salted_password,
    salted_password,
)

SALT = bytes(range(32))
SHA_512 = ScramMechanism.SCRAM_SHA_512


def test_a_user_does_not_show_the_password_and_can_sign_in_with_it() -> None:
    line = initial_user(SHA_512, "admin", "correct horse", SALT)
    assert "correct horse" not in line
    (record,) = parse_initial_users(f"# the first one\n\n{line}\n", b"")
    salted = salted_password(SHA_512, "correct horse", SALT, 16_384)
    expected = credential_of_salted_password(SHA_512, SALT, salted, 16_384)
    assert (record.name, record.mechanism, record.iterations) == ("admin", 2, 16_384)
    assert (record.salt, record.stored_key) == (SALT, expected.stored_key)
    assert record.server_key == expected.server_key


def test_a_password_may_be_given_as_with_kafkas_tool() -> None:
    text = "SCRAM-SHA-256=[name=alice,password=secret,iterations=8192]"
    (record,) = parse_initial_users(text, SALT)
    salted = salted_password(ScramMechanism.SCRAM_SHA_256, "secret", SALT, 8192)
    expected = credential_of_salted_password(ScramMechanism.SCRAM_SHA_256, SALT, salted, 8192)
    assert (record.name, record.salt, record.stored_key) == ("alice", SALT, expected.stored_key)


@pytest.mark.parametrize(
    "line",
    [
        "alice",
        "SCRAM-SHA-1=[name=a,password=s3cr3t]",
        "SCRAM-SHA-512=[password=s3cr3t]",
        "SCRAM-SHA-512=[name=a]",
        "SCRAM-SHA-512=[name=a,password=s3cr3t,salt]",
        "SCRAM-SHA-512=[name=a,password=s3cr3t,iterations=5]",
        "SCRAM-SHA-512=[name=a,password=s3cr3t,colour=red]",
        "SCRAM-SHA-512=[name=a,salt=AAAA,saltedpassword=%s3cr3t]",
        "SCRAM-SHA-512=[name=a,saltedpassword=AAAA]",
    ],
)
def test_a_wrong_line_is_named_without_its_secrets(line: str) -> None:
    with pytest.raises(ValueError, match="line 2") as refused:
        parse_initial_users(f"\n{line}", SALT)
    assert "s3cr3t" not in str(refused.value)
