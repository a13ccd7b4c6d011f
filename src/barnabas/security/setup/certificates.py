"""A private CA, and certificates that it signs, as PEM.

Keys are on the curve P-256: small, fast, and supported by every client.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ModuleNotFoundError as missing:
    raise ImportError(
        "making certificates needs cryptography: pip install 'barnabas[security]'"
    ) from missing

CA_DAYS = 3650
NODE_DAYS = 365
_CLOCKS_DIFFER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """What `barnabas security show` prints."""

    subject: str
    hosts: tuple[str, ...]
    expires: datetime
    serial: str
    """In hexadecimal digits, as OpenSSL shows it."""

    @property
    def days_left(self) -> int:
        return (self.expires - datetime.now(UTC)).days


class Authority:
    """A CA with its private key."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self._certificate = certificate

    @classmethod
    def new(cls, name: str) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        certificate = (
            _begun(subject, subject, key.public_key(), CA_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate)

    @classmethod
    def load(cls, certificate: bytes, key: bytes) -> "Authority":
        """From what `certificate` and `key` returned. Raises `ValueError`."""
        loaded = serialization.load_pem_private_key(key, None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise ValueError("the key of the CA is of another kind")
        return cls(loaded, x509.load_pem_x509_certificate(certificate))

    @property
    def certificate(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key(self) -> bytes:
        return _key_pem(self._key)

    def issue(self, name: str, hosts: Sequence[str], days: int = NODE_DAYS) -> bytes:
        """The private key and certificate of a node that is reached by these hosts."""
        key = ec.generate_private_key(ec.SECP256R1())
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        issuer_key = self._key.public_key()
        certificate = (
            _begun(_name(name), self._certificate.subject, key.public_key(), days)
            .add_extension(x509.SubjectAlternativeName(_alternatives(hosts)), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        return _key_pem(key) + certificate.public_bytes(serialization.Encoding.PEM)

    def revoke(self, certificates: Sequence[bytes], before: bytes | None = None) -> bytes:
        """A revocation list with these certificates, and those of the list `before`.

        It is valid as long as the CA: TLS refuses everybody once a list has expired, and a private
        CA is not there to sign one every week. Raises `ValueError`.
        """
        now = datetime.now(UTC)
        revoked, number = {}, 1
        if before is not None:
            old = x509.load_pem_x509_crl(before)
            if not old.is_signature_valid(self._key.public_key()):
                raise ValueError("the revocation list is not signed by this CA")
            revoked = {each.serial_number: each for each in old}
            number += old.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
        for pem in certificates:
            certificate = x509.load_pem_x509_certificates(pem)[0]
            try:
                certificate.verify_directly_issued_by(self._certificate)
            except (ValueError, TypeError, InvalidSignature) as error:
                name = certificate.subject.rfc4514_string()
                raise ValueError(f"{name} is not signed by this CA") from error
            entry = x509.RevokedCertificateBuilder().serial_number(certificate.serial_number)
            made = entry.revocation_date(now).build()
            revoked.setdefault(certificate.serial_number, made)
        building = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._certificate.subject)
            .last_update(now - _CLOCKS_DIFFER)
            .next_update(self._certificate.not_valid_after_utc)
            .add_extension(x509.CRLNumber(number), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        for each in revoked.values():
            building = building.add_revoked_certificate(each)
        return building.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def facts_of(pem: bytes) -> CertificateFacts:
    """Of the first certificate in a file, which may begin with a key. Raises `ValueError`."""
    certificate = x509.load_pem_x509_certificates(pem)[0]
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        hosts: tuple[str, ...] = ()
    else:
        addresses = names.get_values_for_type(x509.IPAddress)
        hosts = (*names.get_values_for_type(x509.DNSName), *map(str, addresses))
    return CertificateFacts(
        certificate.subject.rfc4514_string(),
        hosts,
        certificate.not_valid_after_utc,
        f"{certificate.serial_number:X}",
    )


def revoked_serials(revocation_list: bytes) -> set[str]:
    """As in `CertificateFacts`. Raises `ValueError`."""
    return {f"{each.serial_number:X}" for each in x509.load_pem_x509_crl(revocation_list)}


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternatives(hosts: Sequence[str]) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = []
    for host in dict.fromkeys(hosts):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            found.append(x509.DNSName(host))
    return found


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
