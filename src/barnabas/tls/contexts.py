"""SSL contexts from PEM files."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from barnabas.tls.pem import with_line_ends
from barnabas.tls.revocation_lists import read_lists
from barnabas.tls.tls_files import Pem, TlsError, TlsFiles

_MIN_VERSION = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:!aNULL:!aDSS"
"""Of TLS 1.2: with forward secrecy, and authenticated encryption instead of CBC."""

_MISSING = (
    "; create the node's certificate with `barnabas security init`, or for a node that joins with "
    "`barnabas security add-node`, and copy it there"
)


def server_context(files: TlsFiles, client_auth: ssl.VerifyMode) -> ssl.SSLContext:
    """A context for the side that accepts connections. Raises `TlsError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _restrict(context, files)
    if files.certificate is None:
        raise TlsError(
            "a TLS listener needs a certificate; set ssl.keystore.location to a PEM file with the "
            "certificate chain and its key"
        )
    _load_certificate(context, files, _MISSING)
    if files.trusted is not None:
        _load_trusted(context, files.trusted)
    elif client_auth is not ssl.CERT_NONE:
        raise TlsError(
            "ssl.client.auth needs the CA of the clients; set ssl.truststore.location to a PEM file"
        )
    if files.revoked is not None:
        _load_revoked(context, files.revoked)
    context.verify_mode = client_auth
    if client_auth is not ssl.CERT_NONE:
        # A resumed session would not show its certificate again, which may have expired meanwhile.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
    return context


def client_context(files: TlsFiles, *, check_hostname: bool) -> ssl.SSLContext:
    """A context for the side that connects; it trusts the system's CAs if none are given.

    Raises `TlsError`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _restrict(context, files)
    context.check_hostname = check_hostname
    if files.trusted is None:
        context.load_default_certs()
    else:
        _load_trusted(context, files.trusted)
    if files.revoked is not None:
        _load_revoked(context, files.revoked)
    if files.certificate is not None:
        _load_certificate(context, files)
    return context


def _restrict(context: ssl.SSLContext, files: TlsFiles) -> None:
    versions = sorted(_MIN_VERSION[version] for version in files.versions)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    context.set_ciphers(_CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION


def _load_certificate(context: ssl.SSLContext, files: TlsFiles, if_missing: str = "") -> None:
    certificate, key = files.certificate, files.key
    assert certificate is not None
    where = certificate if key is None else key
    is_encrypted = False

    def password() -> str:
        nonlocal is_encrypted
        is_encrypted = True
        if files.key_password is None:
            raise TlsError(f"{_name(where)}: the key is encrypted; set ssl.key.password")
        return files.key_password

    with _as_file(certificate) as certificate_path, _as_file(key) as key_path:
        assert certificate_path is not None
        try:
            context.load_cert_chain(certificate_path, key_path, password)
        except ssl.SSLError as error:
            why = _why_not_loaded(error, is_encrypted=is_encrypted)
            raise TlsError(f"{_name(where)}: {why}") from None
        except OSError as error:
            advice = if_missing if isinstance(error, FileNotFoundError) else ""
            raise TlsError(f"{_name(certificate)}: {error.strerror}{advice}") from None


def _why_not_loaded(error: ssl.SSLError, *, is_encrypted: bool) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    if is_encrypted:
        return "ssl.key.password does not open the key"
    return "no usable certificate and key in PEM format"


def _load_trusted(context: ssl.SSLContext, trusted: Pem) -> None:
    try:
        if trusted.text is not None:
            context.load_verify_locations(cadata=with_line_ends(trusted.text))
        elif trusted.path is not None and Path(trusted.path).is_dir():
            context.load_verify_locations(capath=trusted.path)
        else:
            context.load_verify_locations(cafile=trusted.path)
    except (ssl.SSLError, ValueError):
        raise TlsError(f"{_name(trusted)}: no certificate in PEM format found") from None
    except OSError as error:
        raise TlsError(f"{_name(trusted)}: {error.strerror}") from None


def _load_revoked(context: ssl.SSLContext, revoked: Pem) -> None:
    """Check the certificate of each peer, not those of intermediate CAs."""
    lists = Pem(revoked.setting, text=read_lists(revoked))
    with _as_file(lists) as path:
        try:
            context.load_verify_locations(cafile=path)
        except ssl.SSLError:
            raise TlsError(f"{_name(revoked)}: a certificate revocation list is damaged") from None
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _name(pem: Pem) -> str:
    return pem.setting if pem.path is None else f"{pem.setting}={pem.path}"


@contextmanager
def _as_file(pem: Pem | None) -> Iterator[str | None]:
    """The path of a PEM file; text is written to a temporary one, as OpenSSL reads only files."""
    if pem is None or pem.text is None:
        yield None if pem is None else pem.path
        return
    made, path = tempfile.mkstemp(prefix="barnabas-", suffix=".pem")  # for this user only
    try:
        with os.fdopen(made, "w", encoding="ascii", errors="replace") as file:
            file.write(with_line_ends(pem.text))
        yield path
    finally:
        Path(path).unlink(missing_ok=True)
