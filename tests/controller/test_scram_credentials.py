"""What the controller decides about users."""

import pytest

from barnabas.controller.draft import Draft
from barnabas.controller.scram_credentials import alter_scram_credentials
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)


def password(
    name: str,
    mechanism: int = 1,
    iterations: int = 4096,
    salt: bytes = b"salt",
    salted: bytes | None = None,
) -> ScramCredentialUpsertion:
    made = bytes(32 * mechanism) if salted is None else salted
    return ScramCredentialUpsertion(name, mechanism, iterations, salt, made)


def alter(
    image: MetadataImage,
    *changes: ScramCredentialUpsertion | ScramCredentialDeletion,
) -> dict[str, int]:
    draft = Draft(image, lambda _: False, lambda _: 1)
    request = AlterUserScramCredentialsRequest(
        [each for each in changes if isinstance(each, ScramCredentialDeletion)],
        [each for each in changes if isinstance(each, ScramCredentialUpsertion)],
    )
    answer = alter_scram_credentials(draft, request)
    return {result.user: result.error_code for result in answer.results}


def test_add_change_and_remove() -> None:
    image = MetadataImage()
    assert alter(image, password("ann", 1), password("ann", 2), password("bob")) == {
        "ann": 0,
        "bob": 0,
    }
    before = image.scram.of_user("ann")
    assert before.keys() == {1, 2}
    assert alter(image, password("ann", salted=b"x" * 32)) == {"ann": 0}
    assert image.scram.of_user("ann")[1] != before[1]
    assert image.scram.of_user("ann")[2] == before[2]
    removed = alter(image, ScramCredentialDeletion("ann", 1), ScramCredentialDeletion("ann", 2))
    assert removed == {"ann": 0}
    assert image.scram.users() == {"bob"}


def test_what_is_kept_is_not_what_was_sent() -> None:
    image, salted = MetadataImage(), b"p" * 32
    alter(image, password("ann", salted=salted))
    credential = image.scram.of_user("ann")[1]
    assert salted not in (credential.stored_key, credential.server_key)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (password("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (password("ann", 3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (password("ann", 0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (password("ann", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (password("ann", iterations=16_385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (password("ann", salt=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (password("ann", salted=b"short"), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (ScramCredentialDeletion("ann", 1), ErrorCode.RESOURCE_NOT_FOUND),
        (ScramCredentialDeletion("ann", 9), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    ],
)
def test_an_error_leaves_this_user_alone_and_not_others(
    change: ScramCredentialUpsertion | ScramCredentialDeletion, error: ErrorCode
) -> None:
    image = MetadataImage()
    assert alter(image, change, password("bob")) == {change.name: error, "bob": 0}
    assert image.scram.users() == {"bob"}


def test_one_error_of_a_user_counts_for_all_that_is_asked_of_it() -> None:
    image = MetadataImage()
    assert alter(image, password("ann", 1), password("ann", 2, 1)) == {
        "ann": ErrorCode.UNACCEPTABLE_CREDENTIAL
    }
    twice = alter(image, password("ann"), ScramCredentialDeletion("ann", 1))
    assert twice == {"ann": ErrorCode.DUPLICATE_RESOURCE}
    assert image.scram.users() == set()
