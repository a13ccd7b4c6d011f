"""Users that a new cluster begins with, in the notation of Kafka's `kafka-storage --add-scram`.

    SCRAM-SHA-512=[name=admin,salt=BASE64,saltedpassword=BASE64,iterations=8192]

There is one user on a line. In place of `salt` and `saltedpassword` there may be a `password`.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error

from barnabas.security.sasl.scram_credential import (
    DEFAULT_ITERATIONS,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    SALT_BYTES,
    ScramMechanism,
    credential_of_salted_password,
    salted_password,
)
from barnabas.wire.messages.metadata_records import UserScramCredentialRecord

_LINE = re.compile(r"(SCRAM-SHA-\d+)=\[(.*)\]")
_KEYS = frozenset({"name", "password", "salt", "saltedpassword", "iterations"})


def initial_user(mechanism: ScramMechanism, name: str, password: str, salt: bytes) -> str:
    """The line of a user, which does not show the password."""
    salted = salted_password(mechanism, password, salt, DEFAULT_ITERATIONS)
    values = {
        "name": name,
        "salt": b64encode(salt).decode(),
        "saltedpassword": b64encode(salted).decode(),
        "iterations": DEFAULT_ITERATIONS,
    }
    return f"{mechanism.label}=[{','.join(f'{key}={value}' for key, value in values.items())}]"


def parse_initial_users(text: str, new_salt: bytes) -> list[UserScramCredentialRecord]:
    """The users of a file; `new_salt` is for those whose password is written there.

    Raises `ValueError`, which shows no secret.
    """
    lines = [line.strip() for line in text.splitlines()]
    return [
        _user(number, line, new_salt)
        for number, line in enumerate(lines, 1)
        if line and not line.startswith("#")
    ]


def _user(number: int, line: str, new_salt: bytes) -> UserScramCredentialRecord:
    found = _LINE.fullmatch(line)
    mechanism = None if found is None else ScramMechanism.named(found[1])
    if found is None or mechanism is None:
        raise ValueError(f"line {number} is not SCRAM-SHA-512=[name=USER,...]")
    values = dict(_pair(number, each) for each in found[2].split(","))
    name = values.get("name", "")
    if not name or values.keys() - _KEYS:
        raise ValueError(f"line {number} has no name, or another key than {', '.join(_KEYS)}")
    iterations = values.get("iterations", str(DEFAULT_ITERATIONS))
    if not iterations.isdecimal() or not MIN_ITERATIONS <= int(iterations) <= MAX_ITERATIONS:
        raise ValueError(f"line {number}: iterations are {MIN_ITERATIONS} to {MAX_ITERATIONS}")
    salt, salted = _salted(number, mechanism, values, int(iterations), new_salt)
    credential = credential_of_salted_password(mechanism, salt, salted, int(iterations))
    return UserScramCredentialRecord(
        name,
        mechanism,
        credential.salt,
        credential.stored_key,
        credential.server_key,
        credential.iterations,
    )


def _pair(number: int, text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise ValueError(f"line {number} has an entry that is not KEY=VALUE")
    return key.strip(), value.strip()


def _salted(
    number: int,
    mechanism: ScramMechanism,
    values: dict[str, str],
    iterations: int,
    new_salt: bytes,
) -> tuple[bytes, bytes]:
    """Salt and salted password."""
    if "password" in values and "saltedpassword" not in values:
        salt = _decoded(number, values["salt"]) if "salt" in values else new_salt[:SALT_BYTES]
        return salt, salted_password(mechanism, values["password"], salt, iterations)
    if "password" in values or not {"salt", "saltedpassword"} <= values.keys():
        raise ValueError(f"line {number} needs either password, or salt and saltedpassword")
    return _decoded(number, values["salt"]), _decoded(number, values["saltedpassword"])


def _decoded(number: int, text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except Base64Error as error:
        raise ValueError(f"line {number}: salt and saltedpassword are Base64") from error
