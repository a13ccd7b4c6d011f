"""Users: adding, changing and removing their SCRAM credentials.

A user whose request has an error anywhere keeps all credentials as they are; other users of the
same request are changed.
"""

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import MetadataRecord
from barnabas.security.sasl.scram_credential import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramMechanism,
    credential_of_salted_password,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.wire.messages.metadata_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

_Change = ScramCredentialDeletion | ScramCredentialUpsertion


def alter_scram_credentials(
    draft: Draft, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    by_user: dict[str, list[_Change]] = {}
    changes: list[_Change] = [*request.deletions, *request.upsertions]
    for change in changes:
        by_user.setdefault(change.name, []).append(change)
    results = []
    for name, own in by_user.items():
        try:
            draft.write_all(_records(draft.image, own))
            results.append(AlterUserScramCredentialsResult(name, error_message=None))
        except Refusal as refusal:
            results.append(
                AlterUserScramCredentialsResult(name, refusal.error_code, refusal.message)
            )
    return AlterUserScramCredentialsResponse(results=results)


def _records(image: MetadataImage, changes: list[_Change]) -> list[MetadataRecord]:
    """Raises `Refusal`."""
    mechanisms = [change.mechanism for change in changes]
    if len(set(mechanisms)) < len(mechanisms):
        raise Refusal(
            ErrorCode.DUPLICATE_RESOURCE,
            "A user credential cannot be altered twice in the same request",
        )
    return [_record(image, change) for change in changes]


def _record(image: MetadataImage, change: _Change) -> MetadataRecord:
    if not change.name:
        raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in tuple(ScramMechanism):
        raise Refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    mechanism = ScramMechanism(change.mechanism)
    if isinstance(change, ScramCredentialDeletion):
        if change.name not in image.scram.of_mechanism(mechanism):
            raise Refusal(
                ErrorCode.RESOURCE_NOT_FOUND,
                "Attempt to delete a user credential that does not exist",
            )
        return RemoveUserScramCredentialRecord(change.name, mechanism)
    if change.iterations < MIN_ITERATIONS:
        raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if change.iterations > MAX_ITERATIONS:
        raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not change.salt:
        raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salt must not be empty")
    if len(change.salted_password) != mechanism.key_bytes:
        raise Refusal(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"A salted password of {mechanism.label} has {mechanism.key_bytes} bytes",
        )
    credential = credential_of_salted_password(
        mechanism, bytes(change.salt), bytes(change.salted_password), change.iterations
    )
    return UserScramCredentialRecord(
        change.name,
        mechanism,
        credential.salt,
        credential.stored_key,
        credential.server_key,
        credential.iterations,
    )
