"""An S3 server in a process: SeaweedFS, whose program comes from PyPI."""

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from pyarrow import fs

from barnabas.embedded.ports import Ports
from tests.support.wait import wait_until

_PORTS = [f"{part}.port" for part in ("master", "volume", "filer")]
_PORTS += [f"{part}.port.grpc" for part in ("master", "volume", "filer", "s3")]
# These have a fixed port, and the second server on a machine that finds it taken ends.
_OFF = ("-s3.port.iceberg=0", "-s3.port.lance=0")
_START_S = 240.0
KEY, SECRET = "ACCESSKEY0123456", "SECRETKEY01234567890"


def program() -> str | None:
    """The server's program, beside Python's or on the path."""
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


class S3Server:
    """A server with one bucket, `lake`."""

    def __init__(self, folder: Path) -> None:
        found = program()
        assert found is not None
        right = {"accessKey": KEY, "secretKey": SECRET}
        user = {"name": "tests", "credentials": [right], "actions": ["Admin"]}
        (folder / "s3.json").write_text(json.dumps({"identities": [user]}))
        data = folder / "data"
        data.mkdir()
        self._ports = Ports(1 + len(_PORTS))
        self.port, *rest = self._ports.numbers
        ports = [f"-{name}={port}" for name, port in zip(_PORTS, rest, strict=True)]
        with (folder / "weed.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(found, "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
                    *("-filer", "-s3", f"-s3.port={self.port}", f"-s3.config={folder}/s3.json"),
                    *("-master.volumeSizeLimitMB=64", "-volume.max=20", *ports, *_OFF),
                ],
                stdout=log,
                stderr=log,
            )
        self._log = folder / "weed.log"
        wait_until(self._is_up, self._said, timeout_s=_START_S)
        self.system = fs.S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )
        # It answers a little before all of its parts know each other.
        wait_until(self._has_bucket, self._said, timeout_s=_START_S)

    def url(self, folder: str, secret: str = SECRET) -> str:
        where = f"endpoint_override=127.0.0.1%3A{self.port}&scheme=http"
        return f"s3://{KEY}:{secret}@lake/{folder}?{where}"

    def _said(self) -> str:
        return self._log.read_text()[-2000:]

    def _has_bucket(self) -> bool:
        assert self._process.poll() is None, self._said()
        try:
            self.system.create_dir("lake")
        except OSError:
            return False
        return True

    def _is_up(self) -> bool:
        assert self._process.poll() is None, self._said()
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=1).close()
        except urllib.error.HTTPError:
            return True  # it wants to know who asks
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._ports.close()
        # A killed server leaves its sockets, and some have a fixed place.
        for port in self._ports.numbers:
            for socket in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                socket.unlink()
