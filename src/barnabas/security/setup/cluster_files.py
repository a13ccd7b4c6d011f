"""The files of a secured cluster: made once, kept with the cluster.

    ca.pem, ca.key      the private CA; who has the key can make certificates that all nodes trust
    crl.pem             its revocation list
    admin.properties    how the first administrator connects
    node-1/             what the first node needs: server.properties, node.pem, ca.pem,
                        crl.pem, cluster.secret, users

A node's folder holds nothing that another machine does not need, so that it can be copied there.
Only their owner can read the files that are secret.
"""

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.security.sasl.initial_users import initial_user
from barnabas.security.sasl.scram_credential import SALT_BYTES, ScramMechanism
from barnabas.security.setup.certificates import (
    NODE_DAYS,
    Authority,
    CertificateFacts,
    facts_of,
    revoked_serials,
)

ADMINISTRATOR = "admin"
ADMINISTRATOR_FILE = "admin.properties"
SERVER_FILE = "server.properties"
_CA, _CA_KEY, _CRL = "ca.pem", "ca.key", "crl.pem"
_CERTIFICATE, _SECRET, _USERS = "node.pem", "cluster.secret", "users"
_SERVERS = "bootstrap.servers"
_NODE = re.compile(r"node-(\d+)")
_MECHANISM = ScramMechanism.SCRAM_SHA_512
_MECHANISMS = (_MECHANISM, ScramMechanism.SCRAM_SHA_256)
"""As users get them: some clients are configured for the one, some for the other."""
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class SetupError(Exception):
    """What is wrong with the folder, and what to do about it."""


@dataclass(frozen=True, slots=True)
class NodeHosts:
    """A node, and the hosts by which it is reached."""

    node_id: int
    hosts: tuple[str, ...]


class ClusterFiles:
    """The files of one cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @property
    def exist(self) -> bool:
        return (self.folder / _CA).exists()

    @property
    def administrator_file(self) -> Path:
        return self.folder / ADMINISTRATOR_FILE

    @property
    def ca_file(self) -> Path:
        return self.folder / _CA

    @property
    def crl_file(self) -> Path:
        return self.folder / _CRL

    @property
    def node_ids(self) -> list[int]:
        """The nodes that have a folder."""
        found = (_NODE.fullmatch(each.name) for each in self.folder.iterdir())
        return sorted(int(each[1]) for each in found if each is not None)

    def node_folder(self, node_id: int) -> Path:
        return self.folder / f"node-{node_id}"

    def certificate_file(self, node_id: int) -> Path:
        return self.node_folder(node_id) / _CERTIFICATE

    def make(self, nodes: Sequence[NodeHosts], bootstrap: str | None = None) -> None:
        """Make everything; the administrator connects to `bootstrap`. Raises `SetupError`."""
        if self.exist:
            raise SetupError(
                f"{self.folder} is there already; new certificates are made by `barnabas security "
                f"renew {self.folder}`"
            )
        authority = Authority.new(f"Barnabas CA {secrets.token_hex(4)}")
        password = secrets.token_urlsafe(18)
        users = "\n".join(
            initial_user(each, ADMINISTRATOR, password, secrets.token_bytes(SALT_BYTES))
            for each in _MECHANISMS
        )
        secret = secrets.token_urlsafe(32)
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(self.crl_file, authority.revoke([]), is_secret=False)
        for node in nodes:
            self._make_node(authority, node, {_SECRET: secret, _USERS: users})
        _write(self.folder / _CA_KEY, authority.key)
        servers = {} if bootstrap is None else {_SERVERS: bootstrap}
        administrator = {**servers, **self.client_settings(ADMINISTRATOR, password)}
        _write(self.administrator_file, _text(administrator))
        # Last: it says that all is there.
        _write(self.folder / _CA, authority.certificate, is_secret=False)

    def add(self, node: NodeHosts) -> None:
        """Make the folder of a node that joins. Raises `SetupError`."""
        if self.node_folder(node.node_id).exists():
            raise SetupError(f"{self.node_folder(node.node_id)} is there already")
        first = self.node_folder(self.node_ids[0])
        shared = {name: (first / name).read_text().strip() for name in (_SECRET, _USERS)}
        self._make_node(self._authority(), node, shared)

    def _make_node(self, authority: Authority, node: NodeHosts, shared: Mapping[str, str]) -> None:
        folder = self.node_folder(node.node_id)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in shared.items():
            _write(folder / name, f"{text}\n".encode())
        _write(folder / _CA, authority.certificate, is_secret=False)
        # From the beginning, so that no setting has to change on the day that one is lost.
        _write(folder / _CRL, self._revocation_list() or authority.revoke([]), is_secret=False)
        self._issue(authority, node, NODE_DAYS)

    def _issue(self, authority: Authority, node: NodeHosts, days: int) -> None:
        certificate = authority.issue(f"node-{node.node_id}", node.hosts, days)
        _write(self.certificate_file(node.node_id), certificate)

    def renew(self, days: int = NODE_DAYS) -> dict[int, CertificateFacts]:
        """New certificates for all nodes, for the same hosts. Raises `SetupError`."""
        authority = self._authority()
        for node_id, facts in self.certificates().items():
            self._issue(authority, NodeHosts(node_id, facts.hosts), days)
        return self.certificates()

    def revoke(self, node_ids: Sequence[int], files: Sequence[Path]) -> list[CertificateFacts]:
        """Revoke the certificates of nodes, and those in files. Raises `SetupError`."""
        authority = self._authority()
        paths = [*map(self.certificate_file, node_ids), *files]
        facts = [self._facts(path) for path in paths]
        try:
            made = authority.revoke([path.read_bytes() for path in paths], self._revocation_list())
        except (OSError, ValueError) as error:
            raise SetupError(f"nothing was revoked: {error}") from error
        for folder in (self.folder, *map(self.node_folder, self.node_ids)):
            _write(folder / _CRL, made, is_secret=False)
        return facts

    def revoked(self) -> set[str]:
        """Serial numbers of the certificates that were revoked. Raises `SetupError`."""
        found = self._revocation_list()
        try:
            return set() if found is None else revoked_serials(found)
        except ValueError as error:
            raise SetupError(f"{self.crl_file} can't be read: {error}") from error

    def _revocation_list(self) -> bytes | None:
        """None: a release made the folder that had no such lists."""
        return self.crl_file.read_bytes() if self.crl_file.exists() else None

    def certificates(self) -> dict[int, CertificateFacts]:
        """The certificates of the nodes. Raises `SetupError`."""
        return {each: self._facts(self.certificate_file(each)) for each in self.node_ids}

    def authority(self) -> CertificateFacts:
        """The certificate of the CA. Raises `SetupError`."""
        return self._facts(self.folder / _CA)

    def node_settings(self, node_id: int, folder: Path | None = None) -> dict[str, str]:
        """The settings that secure a node whose files are in `folder`, all but its listeners."""
        here = self.node_folder(node_id) if folder is None else folder
        has_list = (self.node_folder(node_id) / _CRL).exists()
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(here / _CERTIFICATE),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(here / _CA),
            **({"ssl.crl.location": str(here / _CRL)} if has_list else {}),
            "sasl.enabled.mechanisms": ",".join(each.label for each in _MECHANISMS),
            "authorizer.class.name": _AUTHORIZER,
            "super.users": f"User:{ADMINISTRATOR}",
            "cluster.secret.file": str(here / _SECRET),
            "initial.users.file": str(here / _USERS),
        }

    def write_node_settings(
        self, node_id: int, settings: Mapping[str, str], proposed: Mapping[str, str]
    ) -> None:
        """The settings of a node, and comments with others that the operator may want."""
        comments = b"# Consider these too:\n" + _text({f"# {k}": v for k, v in proposed.items()})
        _write(self.node_folder(node_id) / SERVER_FILE, _text(settings) + comments)

    def client_settings(self, user: str, password: str) -> dict[str, str]:
        """How a user connects."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.folder / _CA),
            "sasl.mechanism": _MECHANISM.label,
            "sasl.username": user,
            "sasl.password": password,
        }

    def administrator_settings(self) -> dict[str, str]:
        """How the first administrator connects."""
        lines = self.administrator_file.read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def name_servers(self, servers: str) -> None:
        """Write where the administrator connects, unless the file says so already.

        OSError if the disk refuses. The operator may have moved the file.
        """
        if not self.administrator_file.exists():
            return
        settings = self.administrator_settings()
        named = {_SERVERS: servers, **{k: v for k, v in settings.items() if k != _SERVERS}}
        if named != settings:
            _write(self.administrator_file, _text(named))

    def _authority(self) -> Authority:
        try:
            certificate = (self.folder / _CA).read_bytes()
            return Authority.load(certificate, (self.folder / _CA_KEY).read_bytes())
        except (OSError, ValueError) as error:
            raise SetupError(
                f"the CA in {self.folder} can't be used: {error}; give the folder that `barnabas "
                "security init` made"
            ) from error

    def _facts(self, path: Path) -> CertificateFacts:
        try:
            return facts_of(path.read_bytes())
        except (OSError, ValueError) as error:
            raise SetupError(f"{path} can't be read: {error}") from error


def _text(settings: Mapping[str, str]) -> bytes:
    return "".join(f"{name}={value}\n" for name, value in settings.items()).encode()


def _write(path: Path, content: bytes, *, is_secret: bool = True) -> None:
    """Never there in part, and never readable by others."""
    draft = path.with_name(f"{path.name}.tmp")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if is_secret else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
