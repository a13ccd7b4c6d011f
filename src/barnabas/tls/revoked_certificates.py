"""Which certificates a revocation list (CRL) names.

TLS checks lists in handshakes, with OpenSSL. This is for connections that are open already when a
list changes: OpenSSL offers nothing for them. Signatures and dates of lists are not checked here.

    CertificateList  SEQUENCE { tbsCertList, algorithm, signature }
    tbsCertList      SEQUENCE { version?, algorithm, issuer, dates, revoked?, ... }
    revoked          SEQUENCE OF SEQUENCE { serial INTEGER, date, extensions? }
"""

import base64
from typing import NamedTuple

from barnabas.security.der import INTEGER, SEQUENCE, elements_of
from barnabas.tls.pem import blocks_of

_VERSION = 0xA0
_TIMES = (0x17, 0x18)


class CertificateId(NamedTuple):
    """What identifies a certificate: the name of its CA, in DER, and its number there."""

    issuer: bytes
    serial: bytes


def certificate_id(certificate: bytes) -> CertificateId:
    """Of a certificate in DER. Raises `ValueError`."""
    try:
        body = next(elements_of(next(elements_of(certificate)).content)).content
        fields = [each for each in elements_of(body) if each.tag != _VERSION]
        serial, _, issuer = fields[:3]
    except (IndexError, StopIteration, ValueError) as error:
        raise ValueError("the certificate is malformed") from error
    return CertificateId(issuer.encoded, serial.content)


def revoked_ids(lists: str) -> set[CertificateId]:
    """Of lists in PEM format. Raises `ValueError`."""
    try:
        return {each for block in blocks_of(lists) for each in _revoked_in(_decoded(block))}
    except (IndexError, StopIteration, ValueError) as error:
        raise ValueError("a certificate revocation list is malformed") from error


def _revoked_in(revocation_list: bytes) -> list[CertificateId]:
    body = next(elements_of(next(elements_of(revocation_list)).content)).content
    fields = [each for each in elements_of(body) if each.tag not in (INTEGER, *_TIMES)]
    issuer, *rest = fields[1:]
    if not rest or rest[0].tag != SEQUENCE:  # extensions: nothing is revoked
        return []
    return [
        CertificateId(issuer.encoded, next(elements_of(entry.content)).content)
        for entry in elements_of(rest[0].content)
    ]


def _decoded(block: str) -> bytes:
    return base64.b64decode("".join(block.splitlines()[1:-1]))
