"""Ends connections whose credentials are gone: the password was changed, the user removed, or the
delegation token ended.

Kafka leaves them open, so somebody with a stolen password would stay. Each node does it when it
applies the change, for its own connections. Users of PLAIN are in a setting that takes a restart,
and tokens of OAUTHBEARER end by themselves.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.sign_in.state import SignIn
from barnabas.metadata.image import MetadataImage
from barnabas.security.sasl.scram_credential import ScramMechanism

logger = logging.getLogger(__name__)

_MAX_SHOWN = 100


def is_current(image: MetadataImage, sign_in: SignIn) -> bool:
    """Whether the client could sign in again as it has."""
    if sign_in.token_id is not None:
        return sign_in.token_id in image.delegation_tokens.by_id
    mechanism = ScramMechanism.named(sign_in.mechanism or "")
    if mechanism is None or sign_in.user is None:
        return True
    return image.scram.of_mechanism(mechanism).get(sign_in.user) == sign_in.credential


class WithdrawnCredentials:
    def __init__(
        self, image: MetadataImage, connections: Callable[[], Iterable[Connection]]
    ) -> None:
        self._image = image
        self._connections = connections

    def end(self, names: Collection[str] | None) -> None:
        """Credentials of these users and ids of delegation tokens have changed; None: any may."""
        ended: Counter[tuple[str, bool]] = Counter()
        for connection in list(self._connections()):
            sign_in = connection.sign_in
            if sign_in is None or not sign_in.is_complete or connection.peer is not None:
                continue
            name = sign_in.token_id or sign_in.user
            if (names is None or name in names) and not is_current(self._image, sign_in):
                ended[sign_in.user or "", sign_in.token_id is not None] += 1
                connection.close()
        for (user, is_by_token), count in ended.items():
            logger.info(
                "closed connections of %r: %d; %s",
                user[:_MAX_SHOWN],
                count,
                "their delegation token has ended"
                if is_by_token
                else "the password was changed, or the user removed",
            )
