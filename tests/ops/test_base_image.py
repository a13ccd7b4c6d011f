"""`make lock` pins the base image by the digest that a registry has for its name."""

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tools.base_image import DOCKERFILE, pin_base_image

INDEX = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
DIGEST = "sha256:" + hashlib.sha256(INDEX).hexdigest()


class Registry(BaseHTTPRequestHandler):
    """A registry that gives a token to anyone, and wants it back."""

    content_type = INDEX_TYPE

    def do_GET(self) -> None:
        host = f"http://127.0.0.1:{self.server.server_address[1]}"
        if self.path == "/token?service=here&scope=repository%3Alibrary%2Fpython%3Apull":
            self.answer(200, b'{"token": "t"}', "application/json")
        elif self.path != "/v2/library/python/manifests/3.13-slim":
            self.answer(404, b"", "text/plain")
        elif self.headers["Authorization"] == "Bearer t" and INDEX_TYPE in self.headers["Accept"]:
            self.answer(200, INDEX, self.content_type)
        else:
            scope = 'service="here",scope="repository:library/python:pull"'
            self.answer(401, b"", "text/plain", f'Bearer realm="{host}/token",{scope}')

    def answer(self, status: int, content: bytes, kind: str, challenge: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("WWW-Authenticate", challenge)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def registry() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def dockerfile(tmp_path: Path) -> Path:
    copy = tmp_path / "Dockerfile"
    copy.write_text(DOCKERFILE.read_text())
    return copy


def test_the_name_gets_the_digest_that_it_has_now(registry: str, dockerfile: Path) -> None:
    for _ in range(2):  # the second time it replaces a digest
        assert pin_base_image(dockerfile, registry) == 0
        lines = dockerfile.read_text().splitlines()
        assert f"ARG BASE=python:3.13-slim@{DIGEST}" in lines
        assert len(lines) == len(DOCKERFILE.read_text().splitlines())


@pytest.mark.parametrize("why", ["it can't be reached", "it has one platform only"])
def test_without_an_answer_the_dockerfile_stays_as_it_is(
    why: str,
    registry: str,
    dockerfile: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = dockerfile.read_text()
    if why == "it can't be reached":
        registry = "http://127.0.0.1:1"
    else:
        kind = "application/vnd.oci.image.manifest.v1+json"
        monkeypatch.setattr(Registry, "content_type", kind)
    assert pin_base_image(dockerfile, registry) == 0
    assert dockerfile.read_text() == before
    assert "the base image is left as it is" in capsys.readouterr().err
