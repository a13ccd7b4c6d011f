"""Contexts from files, and the handshakes that fail."""

import errno
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.tls.contexts import client_context, server_context
from barnabas.tls.failures import why_handshake_failed
from barnabas.tls.reloading import ReloadingContext
from barnabas.tls.tls_files import Pem, TlsError, TlsFiles
from tests.support.certificates import Authority, Certificate


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("other"), "other")


def files_of(certificate: Certificate | None, trusted: Authority | None) -> TlsFiles:
    return TlsFiles(
        None if certificate is None else Pem("ssl.keystore.location", str(certificate.both)),
        trusted=None if trusted is None else Pem("ssl.ca", str(trusted.certificate)),
    )


def shake(
    server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost"
) -> dict[str, str | None]:
    """Each side's reason why it failed, None if it did not."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = {
        "client": client.wrap_bio(down, up, server_hostname=host),
        "server": server.wrap_bio(up, down, server_side=True),
    }
    outcome: dict[str, str | None] = {}
    for _ in range(4):
        for name, side in sides.items():
            if outcome.get(name) is not None:
                continue
            try:
                if name in outcome:
                    side.read(1)
                else:
                    side.do_handshake()
                    outcome[name] = None
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                outcome[name] = why_handshake_failed(error)
    return outcome


REACHED = {"client": None, "server": None}


def test_a_handshake_and_what_it_can_fail_of(authority: Authority, other: Authority) -> None:
    node = authority.issue("/CN=node")
    server = server_context(files_of(node, authority), ssl.CERT_NONE)
    client = client_context(files_of(None, authority), check_hostname=True)
    assert shake(server, client) == REACHED
    assert shake(server, client, "example.org") == {
        "client": "its certificate is not for 'example.org', the host that was connected to",
        "server": "it does not accept this side's certificate",
    }
    lax = client_context(files_of(None, authority), check_hostname=False)
    assert shake(server, lax, "example.org") == REACHED
    stranger = client_context(files_of(None, other), check_hostname=True)
    untrusting = shake(server, stranger)
    assert "its certificate is not of a trusted CA" in str(untrusting["client"])
    assert untrusting["server"] == "it does not trust the CA of this side's certificate"
    expired = server_context(files_of(authority.issue("/CN=old", days=-1), None), ssl.CERT_NONE)
    assert shake(expired, client) == {
        "client": "its certificate has expired",
        "server": "it says that this side's certificate has expired",
    }


def test_client_certificates(authority: Authority, other: Authority) -> None:
    node = files_of(authority.issue("/CN=node"), authority)
    required = server_context(node, ssl.CERT_REQUIRED)
    alice = client_context(files_of(authority.issue("/CN=alice"), authority), check_hostname=True)
    assert shake(required, alice) == REACHED
    nobody = client_context(files_of(None, authority), check_hostname=True)
    assert shake(required, nobody) == {
        "client": "it requires a client certificate, and none was given",
        "server": "it has sent no certificate, and ssl.client.auth is required",
    }
    assert shake(server_context(node, ssl.CERT_OPTIONAL), nobody) == REACHED
    mallory = client_context(files_of(other.issue("/CN=mallory"), authority), check_hostname=True)
    failed = shake(required, mallory)
    assert "its certificate is not of a trusted CA" in str(failed["server"])
    assert failed["client"] == "it does not trust the CA of this side's certificate"


def test_versions(authority: Authority) -> None:
    node = files_of(authority.issue("/CN=node"), None)
    old = server_context(replace(node, versions=("TLSv1.2",)), ssl.CERT_NONE)
    new = client_context(
        replace(files_of(None, authority), versions=("TLSv1.3",)), check_hostname=True
    )
    failed = shake(old, new)
    assert failed["client"] == "it serves other versions of TLS (ssl.enabled.protocols)"
    assert failed["server"] == "it uses another version of TLS (ssl.enabled.protocols)"


def test_keys(authority: Authority, tmp_path: Path) -> None:
    locked = authority.issue("/CN=node", password="open sesame")
    plain = authority.issue("/CN=node")
    client = client_context(files_of(None, authority), check_hostname=True)
    files = files_of(locked, None)
    opened = server_context(replace(files, key_password="open sesame"), ssl.CERT_NONE)
    assert shake(opened, client) == REACHED
    inline = TlsFiles(
        Pem("chain", text=plain.certificate.read_text().replace("\n", " ")),
        Pem("key", text=plain.key.read_text()),
    )
    assert shake(server_context(inline, ssl.CERT_NONE), client) == REACHED
    assert "PRIVATE" not in repr(inline)
    for wrong, message in (
        (files, "the key is encrypted; set ssl.key.password"),
        (replace(files, key_password="wrong"), "ssl.key.password does not open the key"),
        (replace(inline, key=Pem("k", str(locked.key)), key_password="open sesame"), "belong"),
        (TlsFiles(Pem("k", str(tmp_path / "gone"))), "gone: No such file or directory"),
        (TlsFiles(Pem("k", str(authority.certificate))), "no.* certificate and key"),
        (TlsFiles(), "needs a certificate"),
    ):
        with pytest.raises(TlsError, match=message):
            server_context(wrong, ssl.CERT_NONE)
    with pytest.raises(TlsError, match="needs the CA of the clients"):
        server_context(inline, ssl.CERT_REQUIRED)


def test_files_are_followed(authority: Authority, other: Authority, tmp_path: Path) -> None:
    path = tmp_path / "node.pem"
    path.write_text(authority.issue("/CN=node").both.read_text())

    def make(files: TlsFiles) -> ssl.SSLContext:
        return server_context(files, ssl.CERT_NONE)

    reloading = ReloadingContext(TlsFiles(Pem("k", str(path))), make, "a listener")
    first = reloading.current
    reloading.refresh()
    assert reloading.current is first
    path.write_text("half a file")
    reloading.refresh()
    assert reloading.current is first
    path.write_text(other.issue("/CN=node").both.read_text())
    reloading.refresh()
    client = client_context(files_of(None, other), check_hostname=True)
    assert shake(reloading.current, client) == REACHED


def test_a_full_disk_is_no_reason_to_stop_following(authority: Authority) -> None:
    is_full = False

    def make(files: TlsFiles) -> ssl.SSLContext:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return server_context(files, ssl.CERT_NONE)

    def inline() -> TlsFiles:
        made = authority.issue("/CN=node")
        return TlsFiles(
            Pem("c", text=made.certificate.read_text()), Pem("k", text=made.key.read_text())
        )

    reloading = ReloadingContext(inline(), make, "a listener")
    first, new = reloading.current, inline()
    is_full = True
    reloading.refresh(new)
    reloading.refresh(new)
    assert reloading.current is first
    is_full = False
    reloading.refresh(new)
    assert reloading.current is not first


def test_ciphers_of_tls_1_2(authority: Authority) -> None:
    """Authenticated encryption and forward secrecy only; a client without gets no connection."""
    server = server_context(files_of(authority.issue("/CN=n"), None), ssl.CERT_NONE)
    client = client_context(files_of(None, authority), check_hostname=True)
    for context in (server, client):
        old = [each for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
        assert old
        assert all(each["aead"] and "DHE" in each["name"] for each in old), old
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    assert set(shake(server, client).values()) == {None}
    client.set_ciphers("ECDHE+AES:!AESGCM:!AESCCM:@SECLEVEL=0")
    assert shake(server, client)["server"] is not None
