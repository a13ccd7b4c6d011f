"""PEM text in one line."""

import pytest

from barnabas.tls.pem import with_line_ends

PEM = """-----BEGIN CERTIFICATE-----
{}
QUJD
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
QUJD
-----END PRIVATE KEY-----
""".format("QUJD" * 16)


@pytest.mark.parametrize("end", ["\n", " ", "\\n", "\r\n", "\n  "])
def test_line_ends(end: str) -> None:
    assert with_line_ends("junk " + PEM.replace("\n", end)) == PEM


def test_headers_of_a_key_stay() -> None:
    text = (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\nQUJD\n"
        "-----END RSA PRIVATE KEY-----\n"
    )
    assert with_line_ends(text) == text


def test_nothing() -> None:
    assert with_line_ends("what is no certificate") == ""
