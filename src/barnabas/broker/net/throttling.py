"""The way of requests while there are quotas.

Without quotas no request comes here: connections use `Dispatcher.dispatch` directly, and are
switched when the first quota is set and when the last one is removed. So quotas that nobody has set
cost nothing. A Produce that is within its limits still takes the short cut; one that is not goes
the ordinary way, where its answer gets the throttle time.
"""

from asyncio import Future
from typing import Any

from barnabas.broker.net.connection import Answer, Connection, Dispatch, RequestHeld
from barnabas.broker.net.dispatcher import Dispatcher
from barnabas.broker.net.unproved_nodes import FROM_UNPROVED_NODES
from barnabas.broker.quotas.client_quotas import ClientQuotas
from barnabas.broker.quotas.limited_client import LimitedClient
from barnabas.broker.quotas.request_quota import RequestQuota
from barnabas.security.principal import ANONYMOUS
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest

_SIGN_IN = frozenset((SaslHandshakeRequest.API_KEY, SaslAuthenticateRequest.API_KEY))
_PRODUCE = ProduceRequest.API_KEY
_CLIENT_ID_AT = 10  # behind api_key, api_version, correlation_id and the client id's own length


class Throttling:
    """Handles requests with `dispatcher`, and throttles clients that exceed their quotas."""

    def __init__(self, dispatcher: Dispatcher[Any], quotas: ClientQuotas) -> None:
        self._dispatcher = dispatcher
        self._quotas = quotas

    @property
    def dispatch_function(self) -> Dispatch:
        """The one that the current quotas need."""
        if self._quotas.limits.has_clients:
            return self.dispatch
        return self._dispatcher.dispatch

    def dispatch(self, frame: memoryview, connection: Connection) -> "Answer | Future[Answer]":
        """As `Dispatcher.dispatch`, with quotas."""
        client = None
        api_key = int.from_bytes(frame[:2])
        if not is_exempt(connection, api_key):
            client = self._quotas.client(connection.principal.name, client_id_of(frame))
        if client is None:
            return self._dispatcher.dispatch(frame, connection)
        produced_ms = 0
        if api_key == _PRODUCE:
            produced_ms = client.produced(len(frame), self._quotas.now_ms())
            if not produced_ms and client.request is None:
                return self._dispatcher.dispatch(frame, connection)
        if client.request is not None and not connection.awaited_quota:
            self._await_quota(client, connection)
        quotas = self._quotas
        # Clients can name APIs that do not exist: of these nothing is counted.
        times = quotas.throttle_times if self._dispatcher.serves(api_key) else None
        quota = RequestQuota(client, connection, quotas.now_ms, quotas.now_s, times)
        quota.arrived(api_key, produced_ms)
        answer = self._dispatcher.dispatch(frame, connection, quota)
        quota.paused()
        return answer

    def _await_quota(self, client: LimitedClient, connection: Connection) -> None:
        """Let the first request of a connection wait while the client is over its quota.

        Otherwise a client that connects anew for each request would never have to wait. Raises
        `RequestHeld`.
        """
        connection.awaited_quota = True
        throttle_ms = client.request_throttle_ms(self._quotas.now_ms())
        if throttle_ms:
            connection.mute(throttle_ms, self._quotas.now_ms)
            raise RequestHeld


def is_exempt(connection: Connection, api_key: int) -> bool:
    """Whether no quota counts the request.

    Nodes have no quotas, nor has what they send before they have proved that they are nodes: a busy
    client must not keep them from connecting. While it is not known who the client is, it has no
    quota.
    """
    if connection.peer is not None or not connection.has_signed_in or api_key in _SIGN_IN:
        return True
    return connection.principal is ANONYMOUS and api_key in FROM_UNPROVED_NODES


def client_id_of(frame: memoryview) -> bytes:
    """The client id in a request's header; empty if there is none."""
    length = int.from_bytes(frame[_CLIENT_ID_AT - 2 : _CLIENT_ID_AT], signed=True)
    return bytes(frame[_CLIENT_ID_AT : _CLIENT_ID_AT + max(0, length)])
