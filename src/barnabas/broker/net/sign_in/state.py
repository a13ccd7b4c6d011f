"""The sign-in of one connection."""

from asyncio import TimerHandle

from barnabas.security.sasl.exchange import ServerExchange


class SignIn:
    """Begins with a handshake that chooses a mechanism. A session that ends begins again."""

    __slots__ = (
        "exchange",
        "expiry",
        "is_by_token",
        "is_complete",
        "is_expired",
        "is_of_node",
        "is_raw",
        "max_request_bytes",
        "mechanism",
        "user",
    )

    def __init__(self, max_request_bytes: int) -> None:
        self.max_request_bytes = max_request_bytes
        """The largest frame before the client has signed in."""
        self.mechanism: str | None = None
        self.exchange: ServerExchange | None = None
        """Between the handshake and its outcome, also while the client signs in again."""
        self.is_raw = False
        """Whether the exchange goes on in frames without headers, after SaslHandshake v0."""
        self.is_of_node = False
        """Whether a node has begun to prove itself instead."""
        self.is_complete = False
        self.is_by_token = False
        """Whether the client has signed in with a delegation token."""
        self.is_expired = False
        """Whether the session has ended: the client has to sign in again."""
        self.user: str | None = None
        self.expiry: TimerHandle | None = None
        """Ends the session; None if it does not end."""

    def end(self) -> None:
        """The connection is lost."""
        self.exchange = None
        if self.expiry is not None:
            self.expiry.cancel()
