"""Certificates that were replaced before or while a node starts are used from its first answer."""

import socket
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas import Admin
from barnabas.embedded.ports import Ports
from barnabas.security.distinguished_name import subject_of
from tests.support.broker import BrokerProcess
from tests.support.certificates import Authority
from tests.support.wait import wait_until


class TlsBroker(BrokerProcess):
    """A node with an open listener and one with TLS."""

    def __init__(self, directory: Path, ports: Ports, settings: Mapping[str, str]) -> None:
        open_port, self.tls_port = ports.numbers
        listeners = f"PLAINTEXT://127.0.0.1:{open_port},SECURE://127.0.0.1:{self.tls_port}"
        protocols = "PLAINTEXT:PLAINTEXT,SECURE:SSL"
        common = {"listeners": listeners, "listener.security.protocol.map": protocols}
        super().__init__(directory, {**common, **settings})

    def command(self) -> list[str]:
        properties = {"log.dirs": str(self.data)} | self.settings
        pairs = [f"{name}={value}" for name, value in properties.items()]
        return [sys.executable, "-m", "barnabas.broker.server", *pairs]

    def subject(self) -> str:
        """Whose certificate it shows; empty if it does not listen."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        try:
            with (
                socket.create_connection(("127.0.0.1", self.tls_port), 5) as plain,
                context.wrap_socket(plain) as secured,
            ):
                shown = secured.getpeercert(binary_form=True)
        except OSError:
            return ""
        assert shown is not None
        return subject_of(shown)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def test_certificates_that_were_set_while_running_are_used_after_a_restart(
    tmp_path: Path, authority: Authority
) -> None:
    old, new = (authority.issue(f"/CN={name}").both for name in ("old", "new"))
    ports = Ports(2)
    broker = TlsBroker(tmp_path, ports, {"ssl.keystore.location": str(old)})
    try:
        broker.start()
        assert broker.subject() == "CN=old"
        with Admin(broker.bootstrap) as admin:
            admin.set_configs({"listener.name.secure.ssl.keystore.location": str(new)}, broker=1)
        wait_until(lambda: broker.subject() == "CN=new", "it is not used")
        broker.stop()
        broker.start()
        assert broker.subject() == "CN=new"
    finally:
        broker.kill()
        ports.close()


def test_files_that_are_replaced_while_a_node_waits_for_others_are_used(
    tmp_path: Path, authority: Authority
) -> None:
    path = tmp_path / "node.pem"
    old, new = (authority.issue(f"/CN={name}").both.read_text() for name in ("old", "new"))
    path.write_text(old)
    ports = Ports(2)
    voters = f"1@127.0.0.1:{ports.numbers[0]},2@127.0.0.1:1,3@127.0.0.1:2"
    settings = {"ssl.keystore.location": str(path), "controller.quorum.voters": voters}
    broker = TlsBroker(tmp_path, ports, {**settings, "node.id": "1"})
    try:
        broker.launch()
        wait_until(lambda: broker.subject() == "CN=old", "it does not listen")
        path.write_text(new)
        wait_until(lambda: broker.subject() == "CN=new", "it is not used")
    finally:
        broker.kill()
        ports.close()
