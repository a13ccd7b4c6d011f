"""TLS of a listener: its contexts, which follow their files, and who its clients are."""

import logging
import ssl
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Protocol, TypeVar

from barnabas.broker.net.listener import Listener, listeners_of
from barnabas.broker.settings.component_settings import TlsSettings
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.security.distinguished_name import subject_of
from barnabas.security.principal import ANONYMOUS, USER, Principal
from barnabas.security.principal_rules import PrincipalRules
from barnabas.tls.contexts import client_context, server_context
from barnabas.tls.failures import REVOKED
from barnabas.tls.reloading import ReloadingContext
from barnabas.tls.revocation_lists import read_lists
from barnabas.tls.revoked_certificates import certificate_id, revoked_ids
from barnabas.tls.tls_files import Pem, TlsError, TlsFiles

logger = logging.getLogger(__name__)

ConnectionT = TypeVar("ConnectionT")

_CRL = "ssl.crl.location"
_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class ShownCertificate(Hashable, Protocol):
    """An open connection whose client has shown a certificate."""

    def give_up(self, why: str) -> None:
        """Log why, and close it."""


class ListenerTls:
    """The contexts of one listener: for those that connect to it, and for this node as a client of
    the same listener of other nodes."""

    def __init__(self, listener: Listener) -> None:
        """Raises `ConfigError`."""
        self.listener = listener
        self._refused = ""
        """Why changed settings can't be used, as the log has it already."""
        self._shown: dict[ShownCertificate, bytes] = {}
        """Open connections of clients with a certificate."""
        self._lists = ""
        """Revocation lists in PEM format."""
        settings = listener.settings(TlsSettings)
        files = _files(settings)
        what = f"listener {listener.name}"
        client_auth = _CLIENT_AUTH[settings.client_auth]
        to_nodes = partial(client_context, check_hostname=bool(settings.endpoint_identification))
        try:
            self._rules = PrincipalRules(settings.principal_mapping_rules)
            accepting = partial(server_context, client_auth=client_auth)
            self._accepting = ReloadingContext(files, accepting, what)
            self._connecting = ReloadingContext(files, to_nodes, f"{what}, towards other nodes,")
        except TlsError as error:
            raise ConfigError(f"{what}: {error}") from None
        except OSError as error:
            raise ConfigError(f"{what}: can't load its certificates: {error}") from None
        except ValueError as error:
            raise ConfigError(f"ssl.principal.mapping.rules: {error}") from None
        self._close_revoked(files)

    @property
    def accepting(self) -> ssl.SSLContext:
        """For a connection that is accepted now."""
        return self._accepting.current

    @property
    def connecting(self) -> ssl.SSLContext:
        """For a connection to another node."""
        return self._connecting.current

    def refresh(self) -> None:
        """Take over files that were replaced, and settings that name other files.

        It looks at the files: call it now and then.
        """
        try:
            files = _files(self.listener.settings(TlsSettings))
        except ConfigError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                logger.error("listener %s: %s", self.listener.name, error)
            return
        if self._accepting.refresh(files):
            self._close_revoked(files)
        self._connecting.refresh(files)

    def admits(self, certificate: bytes, context: ssl.SSLContext) -> bool:
        """Whether a certificate (in DER) that was verified with this context still is good.

        Revocation lists may have changed while the handshake was under way.
        """
        return context is self.accepting or not self._revoked({None: certificate})

    def opened(self, connection: ShownCertificate, certificate: bytes) -> None:
        """A client has shown this certificate."""
        self._shown[connection] = certificate

    def closed(self, connection: ShownCertificate) -> None:
        """Also for a connection without a certificate."""
        self._shown.pop(connection, None)

    def _close_revoked(self, files: TlsFiles) -> None:
        """Close connections that new lists refuse: handshakes check only new ones."""
        try:
            self._lists = "" if files.revoked is None else read_lists(files.revoked)
        except TlsError as error:  # replaced again since the context was made
            logger.error("listener %s: %s", self.listener.name, error)
        for connection in self._revoked(self._shown):
            connection.give_up(REVOKED)

    def _revoked(self, certificates: Mapping[ConnectionT, bytes]) -> list[ConnectionT]:
        if not certificates or not self._lists:
            return []
        try:
            revoked = revoked_ids(self._lists)
            return [key for key, each in certificates.items() if certificate_id(each) in revoked]
        except ValueError as error:  # OpenSSL could read it
            logger.error("listener %s: %s", self.listener.name, error)
            return []

    def principal(self, certificate: bytes | None) -> Principal:
        """Who the client with this certificate (in DER) is. Raises `ValueError`."""
        if certificate is None:
            return ANONYMOUS
        subject = subject_of(certificate)
        name = self._rules.name_of(subject)
        if not name:
            raise ValueError(f"no rule of ssl.principal.mapping.rules matches {subject!r}")
        return Principal(USER, name)


def open_tls(config: BrokerConfig) -> dict[str, ListenerTls]:
    """TLS of the listeners that have it, by name. Raises `ConfigError`."""
    return {
        name: ListenerTls(listener)
        for name, listener in listeners_of(config).items()
        if listener.protocol.has_tls
    }


def _files(settings: TlsSettings) -> TlsFiles:
    return TlsFiles(
        _pem(
            ("ssl.keystore.location", settings.keystore_location),
            ("ssl.keystore.certificate.chain", settings.certificate_chain),
        ),
        _pem(("", None), ("ssl.keystore.key", settings.private_key)),
        settings.key_password,
        _pem(
            ("ssl.truststore.location", settings.truststore_location),
            ("ssl.truststore.certificates", settings.truststore_certificates),
        ),
        tuple(settings.enabled_protocols.split(",")),
        Pem(_CRL, settings.crl_location) if settings.crl_location else None,
    )


def _pem(location: tuple[str, str | None], text: tuple[str, str | None]) -> Pem | None:
    if location[1] and text[1]:
        raise ConfigError(f"{location[0]} and {text[0]} cannot be combined")
    if location[1]:
        return Pem(location[0], location[1])
    return Pem(text[0], text=text[1]) if text[1] else None
