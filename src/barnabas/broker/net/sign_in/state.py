"""The sign-in of one connection."""

from asyncio import TimerHandle

from barnabas.security.sasl.exchange import ServerExchange


class SignIn:
    """Begins with a handshake that chooses a mechanism. A session that ends begins again."""

    __slots__ = (
        "credential",
        "exchange",
        "expiry",
        "is_complete",
        "is_expired",
        "is_of_node",
        "is_raw",
        "max_request_bytes",
        "mechanism",
        "token_id",
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
        self.token_id: str | None = None
        """The delegation token that the client has signed in with."""
        self.credential: object = None
        """What its password was checked against, if it can be changed while the node runs."""
        self.is_expired = False
        """Whether the session has ended: the client has to sign in again."""
        self.user: str | None = None
        self.expiry: TimerHandle | None = None
        """Ends the session; None if it does not end."""

    @property
    def is_by_token(self) -> bool:
        """Whether the client has signed in with a delegation token."""
        return self.token_id is not None

    def end(self) -> None:
        """The connection is lost."""
        self.exchange = None
        if self.expiry is not None:
            self.expiry.cancel()
