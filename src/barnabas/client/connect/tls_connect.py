"""The TLS context of a client's connections, which follows its files."""

import ssl
from functools import partial

from barnabas.client.connect.security_settings import SecuritySettings
from barnabas.errors import InvalidArgument
from barnabas.tls.contexts import client_context
from barnabas.tls.reloading import ReloadingContext
from barnabas.tls.tls_files import TlsError


class ClientTls:
    """Made once for each client; files are read when the first connection is made."""

    def __init__(self, security: SecuritySettings) -> None:
        self._security = security
        self._context: ReloadingContext | None = None

    def context(self) -> ssl.SSLContext | None:
        """For a new connection; None if it is not to be encrypted. Raises `InvalidArgument`."""
        security = self._security
        if not security.protocol.has_tls:
            return None
        if self._context is None:
            make = partial(client_context, check_hostname=security.check_hostname)
            try:
                self._context = ReloadingContext(security.tls, make, "this client")
            except TlsError as error:
                raise InvalidArgument(str(error)) from None
        else:
            self._context.refresh()
        return self._context.current
