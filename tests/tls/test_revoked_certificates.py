"""Which certificates a revocation list names, compared with the library that `security` uses."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest

from barnabas.tls.revoked_certificates import certificate_id, revoked_ids

x509 = pytest.importorskip("cryptography.x509")

from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402

from barnabas.security.setup.certificates import Authority  # noqa: E402

NOW = datetime.now(UTC)


def list_of(authority: Authority, serials: list[int]) -> str:
    key = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    issuer = x509.load_pem_x509_certificate(authority.certificate).subject
    building = x509.CertificateRevocationListBuilder().issuer_name(issuer)
    building = building.last_update(NOW).next_update(NOW + timedelta(days=1))
    for serial in serials:
        entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(NOW)
        building = building.add_revoked_certificate(entry.build())
    made = building.sign(key, hashes.SHA256())
    return str(made.public_bytes(serialization.Encoding.PEM).decode())


def test_the_certificates_of_a_list() -> None:
    ours, other = Authority.new("ours"), Authority.new("other")
    pems = [ours.issue("node", ["localhost"]) for _ in range(3)]
    found = [x509.load_pem_x509_certificates(pem)[0] for pem in pems]
    ids = [certificate_id(each.public_bytes(serialization.Encoding.DER)) for each in found]
    serials = [each.serial_number for each in found]
    assert revoked_ids(list_of(ours, [])) == set()
    assert revoked_ids(list_of(ours, serials[:2])) == set(ids[:2])
    assert not revoked_ids(list_of(other, serials)) & set(ids)
    both = list_of(other, [1, 2**150]) + list_of(ours, serials[2:])
    assert ids[2] in revoked_ids(both)
    assert len(revoked_ids(both)) == 3
    assert certificate_id(ssl.PEM_cert_to_DER_cert(ours.certificate.decode())) not in set(ids)


@pytest.mark.parametrize("body", ["", "AAAA", "MA==", "MAIwAA=="])
def test_damaged_lists_and_certificates(body: str) -> None:
    with pytest.raises(ValueError, match="malformed"):
        revoked_ids(f"-----BEGIN X509 CRL-----\n{body}\n-----END X509 CRL-----\n")
    with pytest.raises(ValueError, match="malformed"):
        certificate_id(b"0\x02")
