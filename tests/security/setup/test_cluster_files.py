"""The CA, the certificates and the administrator of a secured cluster."""

import ssl
import stat
from pathlib import Path

import pytest

from barnabas.security.setup.cluster_files import ClusterFiles, NodeHosts, SetupError
from barnabas.tls.contexts import client_context, server_context
from barnabas.tls.tls_files import Pem, TlsFiles
from tests.tls.test_contexts import shake

NODES = [NodeHosts(1, ("host1", "127.0.0.1")), NodeHosts(2, ("host2", "::1"))]
SECRET = {"ca.key", "admin.properties", "node.pem", "cluster.secret", "users"}


@pytest.fixture
def files(tmp_path: Path) -> ClusterFiles:
    made = ClusterFiles(tmp_path / "security")
    made.make(NODES)
    return made


def shake_hands(files: ClusterFiles, node_id: int, host: str) -> None:
    """A client that trusts the CA, and the node, without a network. Raises `ssl.SSLError`."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.certificate_file(node_id))
    client = ssl.create_default_context(cafile=str(files.ca_file))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=host)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue


def test_clients_that_trust_the_ca_trust_the_nodes_by_their_hosts(files: ClusterFiles) -> None:
    for node in NODES:
        for host in node.hosts:
            shake_hands(files, node.node_id, host)
    with pytest.raises(ssl.SSLCertVerificationError, match="match"):
        shake_hands(files, 1, "host2")


def test_only_the_owner_reads_what_is_secret(files: ClusterFiles) -> None:
    seen = set()
    for path in files.folder.rglob("*"):
        if path.is_file():
            is_private = not stat.S_IMODE(path.stat().st_mode) & 0o077
            assert is_private == (path.name in SECRET), path
            seen.add(path.name)
    assert seen == SECRET | {"ca.pem", "crl.pem"}


def test_the_file_of_the_administrator_names_the_servers(files: ClusterFiles) -> None:
    before = files.administrator_settings()
    for servers in ("host1:9092", "host1:9092,host2:9092"):
        files.name_servers(servers)
        assert files.administrator_settings() == {"bootstrap.servers": servers, **before}
    assert not stat.S_IMODE(files.administrator_file.stat().st_mode) & 0o077
    files.administrator_file.unlink()
    files.name_servers("host1:9092")
    assert not files.administrator_file.exists()


def test_a_folder_of_a_node_suffices_for_it(files: ClusterFiles) -> None:
    settings = files.node_settings(2)
    for name in ("ssl.keystore.location", "ssl.truststore.location", "cluster.secret.file"):
        assert Path(settings[name]).parent == files.node_folder(2)
        assert Path(settings[name]).exists()
    moved = files.node_settings(2, Path("/etc/barnabas"))
    assert moved["initial.users.file"] == "/etc/barnabas/users"


def test_all_nodes_share_secret_and_users_and_no_certificate(files: ClusterFiles) -> None:
    for name in ("cluster.secret", "users", "ca.pem"):
        one, other = ((files.node_folder(each) / name).read_bytes() for each in (1, 2))
        assert one == other, name
    one, other = (files.certificate_file(each).read_bytes() for each in (1, 2))
    assert one != other


def test_renewed_certificates_have_the_same_hosts_and_ca(files: ClusterFiles) -> None:
    before = files.certificate_file(1).read_bytes()
    found = files.renew(days=30)
    assert found[1].hosts == ("host1", "127.0.0.1")
    assert found[1].days_left in (29, 30)
    assert files.certificate_file(1).read_bytes() != before
    shake_hands(files, 1, "host1")


def test_a_node_that_joins_gets_what_the_others_have(files: ClusterFiles) -> None:
    files.add(NodeHosts(5, ("host5",)))
    shake_hands(files, 5, "host5")
    assert files.node_ids == [1, 2, 5]
    with pytest.raises(SetupError, match="there already"):
        files.add(NodeHosts(5, ("host5",)))


def test_what_is_there_is_never_replaced(files: ClusterFiles) -> None:
    with pytest.raises(SetupError, match="security renew"):
        files.make(NODES)


def test_a_folder_without_a_key_says_so(files: ClusterFiles) -> None:
    (files.folder / "ca.key").write_text("no key")
    with pytest.raises(SetupError, match="can't be used"):
        files.renew()


def accepts(files: ClusterFiles, node_id: int, client_id: int) -> bool:
    """Whether a node accepts a client that shows the certificate of another one."""
    settings = files.node_settings(node_id)
    server_files = TlsFiles(
        Pem("k", settings["ssl.keystore.location"]),
        trusted=Pem("t", settings["ssl.truststore.location"]),
        revoked=Pem("r", settings["ssl.crl.location"]),
    )
    client_files = TlsFiles(
        Pem("k", str(files.certificate_file(client_id))), trusted=Pem("t", str(files.ca_file))
    )
    server = server_context(server_files, ssl.CERT_REQUIRED)
    client = client_context(client_files, check_hostname=False)
    return shake(server, client)["server"] is None


def test_revoked_certificates_are_refused_and_stay_so(files: ClusterFiles, tmp_path: Path) -> None:
    assert accepts(files, 1, 2)
    stolen = tmp_path / "stolen.pem"
    stolen.write_bytes(files.certificate_file(2).read_bytes())
    (facts,) = files.revoke([2], [])
    assert facts.subject == "CN=node-2"
    assert files.revoked() == {facts.serial}
    assert not accepts(files, 1, 2)
    assert accepts(files, 2, 1)
    files.renew()
    assert accepts(files, 1, 2)
    (other,) = files.revoke([], [files.certificate_file(1)])
    files.revoke([], [stolen])
    assert files.revoked() == {facts.serial, other.serial}
    files.add(NodeHosts(3, ("host3",)))
    assert accepts(files, 3, 2)
    assert not accepts(files, 3, 1)
    files.certificate_file(2).write_bytes(stolen.read_bytes())
    assert not accepts(files, 3, 2)


def test_what_can_not_be_revoked(files: ClusterFiles, tmp_path: Path) -> None:
    other = ClusterFiles(tmp_path / "other")
    other.make(NODES)
    before = files.crl_file.read_bytes()
    with pytest.raises(SetupError, match=r"CN=node-1 is not signed by this CA"):
        files.revoke([], [other.certificate_file(1)])
    with pytest.raises(SetupError, match="can't be read"):
        files.revoke([7], [])
    assert files.crl_file.read_bytes() == before
    files.crl_file.write_bytes(other.crl_file.read_bytes())
    with pytest.raises(SetupError, match="the revocation list is not signed by this CA"):
        files.revoke([1], [])


def test_a_folder_of_an_earlier_release(files: ClusterFiles) -> None:
    """It had no revocation lists; a node is not told to read one that is not there."""
    for path in files.folder.rglob("crl.pem"):
        path.unlink()
    assert "ssl.crl.location" not in files.node_settings(1)
    assert files.revoked() == set()
    files.revoke([2], [])
    assert not accepts(files, 1, 2)
