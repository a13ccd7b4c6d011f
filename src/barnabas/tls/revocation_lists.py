"""Certificate revocation lists (CRLs) in PEM format, as a file or a setting has them.

Only the lists are taken: OpenSSL would trust a certificate in the same file as a CA.
"""

from pathlib import Path

from barnabas.tls.pem import blocks_of
from barnabas.tls.tls_files import Pem, TlsError

_KIND = "X509 CRL"


def read_lists(pem: Pem) -> str:
    """The lists in PEM format, at least one. Raises `TlsError`."""
    name = pem.setting if pem.path is None else f"{pem.setting}={pem.path}"
    text = pem.text
    if text is None:
        try:
            text = Path(pem.path or "").read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise TlsError(f"{name}: {error.strerror}") from None
    lists = "".join(blocks_of(text, _KIND))
    if not lists:
        raise TlsError(
            f"{name}: no certificate revocation list in PEM format found (BEGIN {_KIND}); convert "
            "one in DER format with `openssl crl -inform DER`"
        )
    return lists
