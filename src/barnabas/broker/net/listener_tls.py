"""TLS of a listener: its contexts, which follow their files, and who its clients are."""

import logging
import ssl
from functools import partial

from barnabas.broker.net.listener import Listener
from barnabas.broker.settings.component_settings import TlsSettings
from barnabas.broker.settings.config import ConfigError
from barnabas.security.distinguished_name import subject_of
from barnabas.security.principal import ANONYMOUS, USER, Principal
from barnabas.security.principal_rules import PrincipalRules
from barnabas.tls.contexts import client_context, server_context
from barnabas.tls.reloading import ReloadingContext
from barnabas.tls.tls_files import Pem, TlsError, TlsFiles

logger = logging.getLogger(__name__)

_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class ListenerTls:
    """The contexts of one listener: for those that connect to it, and for this node as a client of
    the same listener of other nodes."""

    def __init__(self, listener: Listener) -> None:
        """Raises `ConfigError`."""
        self.listener = listener
        self._refused = ""
        """Why changed settings can't be used, as the log has it already."""
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
        self._accepting.refresh(files)
        self._connecting.refresh(files)

    def principal(self, certificate: bytes | None) -> Principal:
        """Who the client with this certificate (in DER) is. Raises `ValueError`."""
        if certificate is None:
            return ANONYMOUS
        subject = subject_of(certificate)
        name = self._rules.name_of(subject)
        if not name:
            raise ValueError(f"no rule of ssl.principal.mapping.rules matches {subject!r}")
        return Principal(USER, name)


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
    )


def _pem(location: tuple[str, str | None], text: tuple[str, str | None]) -> Pem | None:
    if location[1] and text[1]:
        raise ConfigError(f"{location[0]} and {text[0]} cannot be combined")
    if location[1]:
        return Pem(location[0], location[1])
    return Pem(text[0], text=text[1]) if text[1] else None
