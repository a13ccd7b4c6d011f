"""One sign-in: messages go back and forth until both sides are content, or one gives up.

An exchange is used once. It draws no random numbers: nonces are arguments.
"""

from typing import Protocol


class SaslError(ValueError):
    """The exchange has failed. The message is safe for the other side and for logs: it has no
    secret, and does not tell an unknown user from a wrong password."""


class ServerExchange(Protocol):
    """The side that authenticates."""

    user: str | None
    """Who has signed in; None as long as the exchange goes on."""
    claimed: str | None
    """The user that the client has named; it may not be one."""
    expires_ms: int | None
    """When what the client signed in with expires, since 1970; None if it does not."""
    is_by_token: bool
    """Whether it has signed in with a delegation token of `user`, whose id it has claimed."""
    credential: object
    """What the password was checked against, if it can be changed while the node runs."""

    def step(self, message: bytes) -> bytes:
        """The answer to a message of the client. Raises `SaslError`."""


class ClientExchange(Protocol):
    """The side that signs in."""

    is_complete: bool
    """Whether the server has accepted, and, where the mechanism provides for it, proved that it
    knows the user too."""

    def first(self) -> bytes:
        """The first message."""

    def step(self, challenge: bytes) -> bytes | None:
        """The answer to a message of the server; None if there is nothing left to say.

        Raises `SaslError`.
        """
