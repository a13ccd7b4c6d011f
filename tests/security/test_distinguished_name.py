"""Subjects of certificates, compared with what openssl prints in the form of RFC 2253."""

import ssl
import subprocess
from pathlib import Path

import pytest

from barnabas.security.distinguished_name import subject_of
from tests.support.certificates import Authority
from tests.support.machine import find_tool

SUBJECTS = [
    "/CN=alice",
    "/C=DE/ST=Berlin/L=Berlin/O=Example GmbH/OU=Sales/CN=alice",
    "/DC=org/DC=example/UID=alice/CN=Alice",
    '/O=A, B + "C"; <D>/CN=back\\\\slash',
    "/O=#first/CN= spaces ",
    "/O=Größe/CN=日本",
]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_subjects(authority: Authority, subject: str) -> None:
    path = authority.issue(subject).certificate
    der = ssl.PEM_cert_to_DER_cert(path.read_text())
    command = [str(find_tool("openssl")), "x509", "-noout", "-subject", "-in", str(path)]
    form = ["-nameopt", "RFC2253,-esc_msb,utf8"]
    printed = subprocess.run([*command, *form], capture_output=True, text=True, check=True)
    assert subject_of(der) == printed.stdout.removeprefix("subject=").rstrip("\n")


def test_parts_without_a_keyword(authority: Authority) -> None:
    path: Path = authority.issue("/CN=alice/emailAddress=a@b").certificate
    der = ssl.PEM_cert_to_DER_cert(path.read_text())
    assert subject_of(der) == "1.2.840.113549.1.9.1=#1603614062,CN=alice"


@pytest.mark.parametrize("certificate", [b"", b"\x30", b"\x30\x03\x30\x01\x00", bytes(40)])
def test_what_is_no_certificate(certificate: bytes) -> None:
    with pytest.raises(ValueError, match="malformed"):
        subject_of(certificate)
