"""Revoked certificates on a node that runs: new connections are refused, open ones are closed."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import Admin
from barnabas.broker.net.listener import listeners_of
from barnabas.broker.net.listener_tls import ListenerTls
from barnabas.broker.settings.config import BrokerConfig
from barnabas.embedded.ports import Ports
from barnabas.errors import BarnabasError
from barnabas.tls.contexts import client_context
from barnabas.tls.tls_files import Pem, TlsFiles
from barnabas.wire.messages.metadata import MetadataRequest
from tests.broker.net.test_certificates_at_start import TlsBroker
from tests.broker.raw_client import RawClient
from tests.support.certificates import Authority, Certificate
from tests.support.wait import wait_until

HOSTS = ("127.0.0.1",)


class Revoking:
    """A node with a listener for clients with certificates, and a list of revoked ones."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority(directory / "ca")
        self.crl = directory / "crl.pem"
        self.crl.write_text(self.authority.revoke())
        self.ports = Ports(2)
        settings = {
            "ssl.keystore.location": str(self.authority.issue("/CN=node", hosts=HOSTS).both),
            "ssl.truststore.location": str(self.authority.certificate),
            "ssl.client.auth": "required",
            "listener.name.secure.ssl.crl.location": str(self.crl),
        }
        self.broker = TlsBroker(directory, self.ports, settings)

    def connect(self, certificate: Certificate) -> RawClient:
        files = TlsFiles(
            Pem("", str(certificate.both)), trusted=Pem("", str(self.authority.certificate))
        )
        context = client_context(files, check_hostname=True)
        return RawClient(HOSTS[0], self.broker.tls_port, tls=context)

    def admin(self, certificate: Certificate, **more: str) -> Admin:
        security = {
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.authority.certificate),
            "ssl.certificate.location": str(certificate.certificate),
            "ssl.key.location": str(certificate.key),
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        return Admin(f"{HOSTS[0]}:{self.broker.tls_port}", security=security)

    def refusal(self, certificate: Certificate, **more: str) -> str:
        """Why a new connection fails; empty if it does not."""
        try:
            with self.admin(certificate, **more) as tried:
                tried.topics()
        except BarnabasError as error:  # also a connection that is closed as the list changes
            return str(error)
        return ""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Revoking]:
    made = Revoking(tmp_path)
    try:
        made.broker.start()
        yield made
    finally:
        made.broker.kill()
        made.ports.close()


def test_a_revoked_client_is_shut_out(node: Revoking) -> None:
    alice, bob = (node.authority.issue(f"/CN={name}") for name in ("alice", "bob"))
    assert not node.refusal(bob)
    with node.connect(alice) as kept, node.connect(bob) as closed:
        assert closed.ask(MetadataRequest(topics=[]), 9).brokers
        node.crl.write_text(node.authority.revoke(bob))
        wait_until(lambda: "was revoked" in node.refusal(bob), "it is still accepted")
        with pytest.raises((OSError, EOFError)):
            closed.ask(MetadataRequest(topics=[]), 9)
        assert kept.ask(MetadataRequest(topics=[]), 9).brokers
    assert not node.refusal(alice)
    log = node.broker.log.read_text()
    assert "SECURE: its certificate was revoked" in log
    node.crl.write_text("half a file")
    wait_until(
        lambda: "no certificate revocation list" in node.broker.log.read_text(), "it is not said"
    )
    assert "was revoked" in node.refusal(bob)
    assert not node.refusal(alice)


def test_a_list_that_changes_during_a_handshake(tmp_path: Path) -> None:
    """The handshake was begun with the former list, and must not outlive it."""
    authority, crl = Authority(tmp_path), tmp_path / "crl.pem"
    crl.write_text(authority.revoke())
    config = BrokerConfig(
        {
            "listeners": "SSL://127.0.0.1:0",
            "ssl.keystore.location": str(authority.issue("/CN=node").both),
            "ssl.truststore.location": str(authority.certificate),
            "ssl.crl.location": str(crl),
        }
    )
    tls = ListenerTls(listeners_of(config)["SSL"])
    begun_with = tls.accepting
    people = [authority.issue(f"/CN={name}") for name in ("alice", "bob")]
    alice, bob = (ssl.PEM_cert_to_DER_cert(each.certificate.read_text()) for each in people)
    crl.write_text(authority.revoke(people[1]))
    assert tls.admits(bob, begun_with)
    tls.refresh()
    assert not tls.admits(bob, begun_with)
    assert tls.admits(alice, begun_with)


def test_a_client_that_has_a_list_refuses_a_revoked_node(node: Revoking, tmp_path: Path) -> None:
    alice, path = node.authority.issue("/CN=alice"), tmp_path / "client.crl"
    path.write_text(node.authority.revoke())
    assert not node.refusal(alice, ssl_crl_location=str(path))
    shown = node.broker.settings["ssl.keystore.location"]
    path.write_text(node.authority.revoke(Certificate(Path(shown), Path(shown), Path(shown))))
    assert "its certificate was revoked" in node.refusal(alice, ssl_crl_location=str(path))


def test_a_node_without_its_list_does_not_start(tmp_path: Path) -> None:
    made = Revoking(tmp_path)
    made.crl.write_text(made.authority.certificate.read_text())
    try:
        with pytest.raises(AssertionError, match="ended at its start"):
            made.broker.start()
        assert f"ssl.crl.location={made.crl}: no certificate rev" in made.broker.log.read_text()
    finally:
        made.broker.kill()
        made.ports.close()
