"""Keys for tokens, from a URL."""

import asyncio
import json
import socket
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from threading import Event, Thread
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request
from urllib.response import addinfourl

import pytest

from barnabas.broker.net.sign_in import jwks
from barnabas.broker.net.sign_in.jwks import Jwks, load_keys
from tests.support.wait import LIMIT_S

RSA = {
    "kty": "RSA",
    "kid": "a",
    "n": "sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOoWFsueri23bOdgWp4Dy1WlUzewbgBHod5pcM9H95GQRV3JDXboI"
    "RROSBigeC5yjU1hGzHHyXss8UDprecbAYxknTcQkhslANGRUZmdTOQ5qTRsLAt6BTYuyvVRdhS8exSZEy_c4gs_7svl"
    "JJQ4H9_NxsiIoLwAEk7-Q3UXERGYw_75IDrGA84-lA_-Ct4eTlXHBIY2EaV7t7LjJaynVJCpkv4LKjTTAumiGUIuQhr"
    "NhZLuF_RJLqHpM2kgWFLU7-VTdL1VbC2tejvcI2BlMkEpk1BzBZI0KQB0GaDWFLN-aEAw3vRw",
    "e": "AQAB",
}


class Issuer:
    """Serves a JWKS, or whatever is in `body`."""

    def __init__(self) -> None:
        self.body = json.dumps({"keys": [RSA]}).encode()
        self.asked = 0
        self.answers = Event()
        self.answers.set()
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                issuer.answers.wait(LIMIT_S)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, *_: object) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"
        Thread(target=self.server.serve_forever, daemon=True).start()


def test_keys_are_fetched_once_for_all_who_wait_and_kept_when_that_fails() -> None:
    pytest.importorskip("jwt")
    issuer = Issuer()

    async def scenario() -> None:
        jwks = Jwks(asyncio.get_running_loop(), issuer.url)
        assert jwks.is_outdated(3_600_000)
        first = asyncio.ensure_future(jwks.fetch())
        await asyncio.sleep(0)
        others = asyncio.gather(jwks.fetch(), jwks.fetch())
        first.cancel()  # a client that is gone
        await others
        assert issuer.asked == 1
        assert [key.key_id for key in jwks.keys.keys] == ["a"]
        assert not jwks.is_outdated(3_600_000)
        jwks.doubt()
        assert not jwks.is_outdated(3_600_000), "tokens can make the node fetch all the time"
        issuer.body = b"<html>"
        await jwks.fetch()
        assert [key.key_id for key in jwks.keys.keys] == ["a"]

    try:
        asyncio.run(scenario())
    finally:
        issuer.server.shutdown()
        issuer.server.server_close()


def test_a_slow_issuer_holds_up_no_sign_in_once_there_are_keys() -> None:
    pytest.importorskip("jwt")
    issuer = Issuer()

    async def scenario() -> None:
        jwks = Jwks(asyncio.get_running_loop(), issuer.url)
        first = jwks.renew(0)
        assert first is not None, "without keys nobody can sign in"
        await first
        jwks._fetched_at = asyncio.get_running_loop().time() - 11
        issuer.answers.clear()
        assert jwks.renew(0) is None
        issuer.body = json.dumps({"keys": [RSA | {"kid": "b"}]}).encode()
        issuer.answers.set()
        async with asyncio.timeout(60):
            while [key.key_id for key in jwks.keys.keys] != ["b"]:
                await asyncio.sleep(0.01)
        asked = issuer.asked
        jwks._fetched_at = asyncio.get_running_loop().time() - 11
        jwks.doubt()
        await jwks.fetch()
        assert issuer.asked == asked + 1, "a token with another key has the keys fetched at once"

    try:
        asyncio.run(scenario())
    finally:
        issuer.server.shutdown()
        issuer.server.server_close()


def test_what_does_not_speak_http_has_no_keys() -> None:
    pytest.importorskip("jwt")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-server\r\n")

        Thread(target=answer, daemon=True).start()
        with pytest.raises(ValueError, match="HTTP"):
            load_keys(f"http://127.0.0.1:{listening.getsockname()[1]}/keys")


@pytest.mark.parametrize("url", ["ftp://host/keys", "keys.json", "file:///missing/keys.json"])
def test_urls_that_have_no_keys(url: str) -> None:
    pytest.importorskip("jwt")
    with pytest.raises((OSError, ValueError)):
        load_keys(url)


@pytest.mark.parametrize(
    ("url", "target", "is_followed"),
    [
        ("https://idp.example.com/keys", "https://keys.example.com/", True),
        ("http://localhost/keys", "http://localhost/new", True),
        ("http://localhost/keys", "https://localhost/new", True),
        ("https://idp.example.com/keys", "http://idp.example.com/keys", False),
        ("https://idp.example.com/keys", "ftp://idp.example.com/keys", False),
    ],
)
def test_keys_that_are_fetched_encrypted_stay_encrypted(
    url: str, target: str, is_followed: bool
) -> None:
    """A redirection to plain http would let anybody in between give keys of their own."""
    (handler,) = (each for each in jwks._OPENER.handlers if isinstance(each, HTTPRedirectHandler))
    given = (Request(url), None, 302, "Found", {}, target)
    if is_followed:
        request = handler.redirect_request(*given)  # type: ignore[arg-type]
        assert request is not None
        assert request.full_url == target
    else:
        with pytest.raises(ValueError, match="not encrypted"):
            handler.redirect_request(*given)  # type: ignore[arg-type]


def test_a_download_of_keys_does_not_follow_a_redirect_to_plain_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All the way: the issuer over https names a server over http, which is never asked."""
    pytest.importorskip("jwt")
    unencrypted = Issuer()

    def redirect(_handler: HTTPSHandler, request: Request) -> addinfourl:
        headers = Message()
        headers["Location"] = unencrypted.url
        answer = addinfourl(BytesIO(), headers, request.full_url, 302)
        answer.msg = "Found"  # type: ignore[attr-defined]
        return answer

    monkeypatch.setattr(HTTPSHandler, "https_open", redirect)
    try:
        with pytest.raises(ValueError, match="not encrypted"):
            load_keys("https://idp.example.com/keys")
        assert unencrypted.asked == 0
        assert load_keys(unencrypted.url).keys, "it has keys, for those who trust it"
    finally:
        unencrypted.server.shutdown()
        unencrypted.server.server_close()
