"""Certificates that were revoked: of clients and of servers, and lists that can't be used."""

import logging
import ssl
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from barnabas.tls.contexts import client_context, server_context
from barnabas.tls.reloading import ReloadingContext
from barnabas.tls.tls_files import Pem, TlsError, TlsFiles
from tests.support.certificates import Authority
from tests.support.wait import wait_until
from tests.tls.test_contexts import REACHED, files_of, shake

SETTING = "ssl.crl.location"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ca")


def with_list(files: TlsFiles, path: Path) -> TlsFiles:
    return replace(files, revoked=Pem(SETTING, str(path)))


def test_a_revoked_client_is_refused_and_others_are_not(
    authority: Authority, tmp_path: Path
) -> None:
    alice, bob = authority.issue("/CN=alice"), authority.issue("/CN=bob")
    node, path = files_of(authority.issue("/CN=node"), authority), tmp_path / "crl.pem"
    path.write_text(authority.revoke(bob))
    server = server_context(with_list(node, path), ssl.CERT_REQUIRED)
    good, bad = (
        client_context(files_of(each, authority), check_hostname=True) for each in (alice, bob)
    )
    assert shake(server, good) == REACHED
    assert shake(server, bad) == {
        "client": "it says that this side's certificate was revoked",
        "server": "its certificate was revoked",
    }
    assert shake(server_context(node, ssl.CERT_REQUIRED), bad) == REACHED


def test_a_client_refuses_a_revoked_node(authority: Authority, tmp_path: Path) -> None:
    node, path = authority.issue("/CN=node"), tmp_path / "crl.pem"
    path.write_text(authority.revoke(node))
    server = server_context(files_of(node, None), ssl.CERT_NONE)
    client = client_context(with_list(files_of(None, authority), path), check_hostname=True)
    assert shake(server, client)["client"] == "its certificate was revoked"


def test_lists_of_several_authorities(authority: Authority, tmp_path: Path) -> None:
    """Each CA needs one."""
    other = Authority(tmp_path / "other", "other")
    path, both = tmp_path / "crl.pem", tmp_path / "both.pem"
    both.write_text(authority.certificate.read_text() + other.certificate.read_text())
    node = TlsFiles(
        Pem("k", str(authority.issue("/CN=node").both)),
        trusted=Pem("t", str(both)),
        revoked=Pem(SETTING, str(path)),
    )
    mallory = client_context(files_of(other.issue("/CN=mallory"), authority), check_hostname=True)
    path.write_text(authority.revoke())
    failed = shake(server_context(node, ssl.CERT_REQUIRED), mallory)
    assert "can't be checked (unable to get certificate CRL)" in str(failed["server"])
    assert SETTING in str(failed["server"])
    path.write_text(authority.revoke() + other.revoke())
    assert shake(server_context(node, ssl.CERT_REQUIRED), mallory) == REACHED


def test_a_list_that_has_expired_lets_nobody_in(authority: Authority, tmp_path: Path) -> None:
    path = tmp_path / "crl.pem"
    path.write_text(authority.revoke(days=0))
    node = with_list(files_of(authority.issue("/CN=node"), authority), path)
    alice = client_context(files_of(authority.issue("/CN=alice"), authority), check_hostname=True)

    def has_expired() -> bool:
        failed = shake(server_context(node, ssl.CERT_REQUIRED), alice)["server"]
        return failed is not None and "can't be checked (CRL has expired)" in failed

    wait_until(has_expired, "the list is still in use")


def test_a_certificate_in_the_file_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    other, path = Authority(tmp_path / "other", "other"), tmp_path / "crl.pem"
    path.write_text(other.certificate.read_text() + authority.revoke() + other.revoke())
    node = with_list(files_of(authority.issue("/CN=node"), authority), path)
    mallory = client_context(files_of(other.issue("/CN=mallory"), authority), check_hostname=True)
    failed = shake(server_context(node, ssl.CERT_REQUIRED), mallory)
    assert "its certificate is not of a trusted CA" in str(failed["server"])


def test_files_that_have_no_list(authority: Authority, tmp_path: Path) -> None:
    path = tmp_path / "crl.pem"
    node = with_list(files_of(authority.issue("/CN=node"), authority), path)
    for content, message in (
        (None, f"{SETTING}={path}: No such file"),
        ("", "no certificate revocation list"),
        (authority.certificate.read_text(), "no certificate revocation list"),
        ("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "is damaged"),
    ):
        if content is not None:
            path.write_text(content)
        with pytest.raises(TlsError, match=message):
            server_context(node, ssl.CERT_NONE)
        with pytest.raises(TlsError, match=message):
            client_context(node, check_hostname=True)


def test_a_list_is_followed_and_a_bad_one_is_not_taken_over(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bob, path = authority.issue("/CN=bob"), tmp_path / "crl.pem"
    path.write_text(authority.revoke())
    node = with_list(files_of(authority.issue("/CN=node"), authority), path)
    make = partial(server_context, client_auth=ssl.CERT_REQUIRED)
    reloading = ReloadingContext(node, make, "a listener")
    client = client_context(files_of(bob, authority), check_hostname=True)
    assert shake(reloading.current, client) == REACHED
    path.write_text(authority.revoke(bob))
    reloading.refresh()
    assert shake(reloading.current, client)["server"] == "its certificate was revoked"
    with caplog.at_level(logging.WARNING):
        for spoil in (lambda: path.write_text("half a file"), path.unlink):
            spoil()
            reloading.refresh()
            assert shake(reloading.current, client)["server"] == "its certificate was revoked"
    assert "no certificate revocation list" in caplog.text
    assert "No such file" in caplog.text
