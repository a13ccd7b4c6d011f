"""The users of a cluster: what is kept of their passwords for SCRAM."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from barnabas.wire.messages.metadata_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """One user's credential for one mechanism.

    Nobody can sign in with it, but passwords can be guessed from it, so it is a secret.
    """

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @property
    def shape(self) -> tuple[int, int]:
        """What a client sees of it before it has proved anything, apart from the salt's bytes."""
        return self.iterations, len(self.salt)


@dataclass(slots=True)
class ScramImage:
    """Credentials by mechanism and user."""

    credentials: dict[int, dict[str, ScramCredential]] = field(default_factory=dict)
    _shapes: dict[int, Counter[tuple[int, int]]] = field(default_factory=dict)
    """How many credentials have each shape; derived from `credentials`."""

    def replay(self, record: UserScramCredentialRecord | RemoveUserScramCredentialRecord) -> None:
        self._remove(record.mechanism, record.name)
        if isinstance(record, RemoveUserScramCredentialRecord):
            return
        credential = ScramCredential(
            bytes(record.salt),
            bytes(record.stored_key),
            bytes(record.server_key),
            record.iterations,
        )
        self.credentials.setdefault(record.mechanism, {})[record.name] = credential
        self._shapes.setdefault(record.mechanism, Counter())[credential.shape] += 1

    def _remove(self, mechanism: int, name: str) -> None:
        removed = self.credentials.get(mechanism, {}).pop(name, None)
        if removed is not None:
            shapes = self._shapes[mechanism]
            shapes[removed.shape] -= 1
            if not shapes[removed.shape]:
                del shapes[removed.shape]
            if not self.credentials[mechanism]:
                del self.credentials[mechanism], self._shapes[mechanism]

    # -- the whole -------------------------------------------------------------------------------

    def clear(self) -> None:
        self.credentials.clear()
        self._shapes.clear()

    def records(self) -> list[UserScramCredentialRecord]:
        return [
            UserScramCredentialRecord(
                name, mechanism, each.salt, each.stored_key, each.server_key, each.iterations
            )
            for mechanism, users in self.credentials.items()
            for name, each in users.items()
        ]

    def copy(self) -> "ScramImage":
        return ScramImage(
            {mechanism: users.copy() for mechanism, users in self.credentials.items()},
            {mechanism: shapes.copy() for mechanism, shapes in self._shapes.items()},
        )

    # -- reading ---------------------------------------------------------------------------------

    def users(self) -> set[str]:
        return {name for users in self.credentials.values() for name in users}

    def of_mechanism(self, mechanism: int) -> dict[str, ScramCredential]:
        return self.credentials.get(mechanism, {})

    def of_user(self, name: str) -> dict[int, ScramCredential]:
        """A user's credentials by mechanism."""
        return {
            mechanism: users[name] for mechanism, users in self.credentials.items() if name in users
        }

    def shapes(self, mechanism: int) -> Collection[tuple[int, int]]:
        """The shapes that credentials have."""
        return self._shapes.get(mechanism, {}).keys()
