"""The delegation tokens of a cluster: who may sign in as whom, and until when.

What a client signs in with, the HMAC of a token, is not here: it is made from the token's id and
`delegation.token.secret.key`, which the metadata log does not have.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from barnabas.wire.messages.metadata_records import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
)


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """Principals are written as `User:alice`; times are milliseconds since 1970."""

    token_id: str
    owner: str
    """Whose principal a client gets that signs in with the token."""
    requester: str
    """Who has created it; not the owner if it was created for another user."""
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    max_timestamp_ms: int
    """It can't be renewed beyond this."""
    expiry_timestamp_ms: int

    def is_expired(self, now_ms: int) -> bool:
        return min(self.max_timestamp_ms, self.expiry_timestamp_ms) < now_ms

    def may_renew(self, principal: str) -> bool:
        """Whether a principal may renew it and let it expire. As in Kafka, who has created a token
        for another user may not."""
        return principal == self.owner or principal in self.renewers

    def concerns(self, principal: str) -> bool:
        """Whether a principal may see it without any right."""
        return principal in self.principals

    @property
    def principals(self) -> frozenset[str]:
        return frozenset((self.owner, self.requester, *self.renewers))

    def record(self) -> DelegationTokenRecord:
        return DelegationTokenRecord(
            self.owner,
            self.requester,
            list(self.renewers),
            self.issue_timestamp_ms,
            self.max_timestamp_ms,
            self.expiry_timestamp_ms,
            self.token_id,
        )


@dataclass(slots=True)
class DelegationTokensImage:
    """Tokens by id."""

    by_id: dict[str, DelegationToken] = field(default_factory=dict)

    def replay(self, record: DelegationTokenRecord | RemoveDelegationTokenRecord) -> None:
        if isinstance(record, RemoveDelegationTokenRecord):
            self.by_id.pop(record.token_id, None)
            return
        self.by_id[record.token_id] = DelegationToken(
            record.token_id,
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )

    def clear(self) -> None:
        self.by_id.clear()

    def copy(self) -> "DelegationTokensImage":
        return DelegationTokensImage(self.by_id.copy())

    def records(self) -> Iterator[DelegationTokenRecord]:
        for token in self.by_id.values():
            yield token.record()
