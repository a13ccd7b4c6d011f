"""Certificates for tests, made with the `openssl` command."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.machine import find_tool, missing


def openssl(*arguments: str, cwd: Path) -> None:
    program = find_tool("openssl")
    if program is None:
        pytest.skip(missing("openssl"))
    done = subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Certificate:
    """A certificate with its chain, and its key."""

    certificate: Path
    key: Path
    both: Path
    """Both in one file, as Kafka's keystores of type PEM have them."""


class Authority:
    """A CA below `directory`, which signs certificates."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._made = 0
        self.certificate = directory / f"{name}.pem"
        self._key = directory / f"{name}.key"
        openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", self._key.name, "-out", self.certificate.name, "-days", "30"),
            *("-subj", f"/CN={name}"),
            cwd=directory,
        )

    def issue(
        self,
        subject: str,
        *,
        hosts: tuple[str, ...] = ("localhost",),
        days: int = 10,
        password: str | None = None,
    ) -> Certificate:
        """`subject` is written as `/O=Example/CN=alice`; negative `days`: it has expired."""
        self._made += 1
        stem = f"{self.certificate.stem}-{self._made}"
        extensions = self._directory / f"{stem}.ext"
        names = ",".join(f"{'IP' if host[0].isdigit() else 'DNS'}:{host}" for host in hosts)
        extensions.write_text(f"subjectAltName={names}\n")
        encrypted = ("-passout", f"pass:{password}") if password else ("-nodes",)
        openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", *encrypted),
            *("-keyout", f"{stem}.key", "-out", f"{stem}.csr", "-subj", subject, "-utf8"),
            cwd=self._directory,
        )
        openssl(
            *("x509", "-req", "-in", f"{stem}.csr", "-CA", self.certificate.name),
            *("-CAkey", self._key.name, "-CAcreateserial", "-days", str(days)),
            *("-extfile", extensions.name, "-out", f"{stem}.crt"),
            cwd=self._directory,
        )
        made = [self._directory / f"{stem}.{kind}" for kind in ("crt", "key", "pem")]
        made[2].write_text(made[1].read_text() + made[0].read_text())
        return Certificate(*made)

    def revoke(self, *certificates: Certificate, days: int = 30) -> str:
        """The CRL of this CA, in PEM format, with these certificates and those of earlier calls."""
        name = self.certificate.stem
        config, index, made = (self._directory / f"{name}.{end}" for end in ("cnf", "db", "crl"))
        config.write_text(f"[ca]\ndefault_ca=d\n[d]\ndatabase={index.name}\ndefault_md=sha256\n")
        index.touch()
        common: tuple[str, ...] = ("ca", "-config", config.name, "-cert", self.certificate.name)
        common += ("-keyfile", self._key.name)
        for each in certificates:
            openssl(*common, "-revoke", str(each.certificate), cwd=self._directory)
        lasting = ("-crldays", str(days)) if days > 0 else ("-crlsec", "1")
        openssl(*common, "-gencrl", *lasting, "-out", made.name, cwd=self._directory)
        return made.read_text()
