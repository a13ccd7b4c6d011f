"""A small OpenID provider in the test process: it signs in whom it is told to."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.http_server import Answer, HttpServer, Received

CLIENT, SECRET = "console", "s3cret/of:console"


class OidcProvider:
    """Authorization code with PKCE, refresh tokens, RS256. `change` spoils ID tokens."""

    def __init__(self, folder: Path) -> None:
        self.user = "ada"
        self.change: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        self.lifetime_s = 300
        self.refreshed = 0
        self.is_down = False
        self.refusal: tuple[int, bytes] | None = None
        """What every request for tokens is answered with, if given."""
        self.asked: list[str] = []
        self.keys_file = folder / "keys.json"
        self._codes: dict[str, dict[str, str]] = {}
        self.rotate()
        self._server = HttpServer(self._answer)
        self.issuer = self._server.url.rstrip("/")

    def rotate(self) -> None:
        """Sign with another key from now on."""
        self.key = rsa.generate_private_key(65537, 2048)
        self._key_id = f"key-{time.monotonic_ns()}"
        jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        self.keys = {"keys": [{**jwk, "kid": self._key_id, "use": "sig"}]}
        self.keys_file.write_text(json.dumps(self.keys))

    def close(self) -> None:
        self._server.close()

    def sign(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, self.key, "RS256", headers={"kid": self._key_id})

    def _answer(self, request: Received) -> Answer:
        parts = urlsplit(request.path)
        self.asked.append(parts.path)
        if self.is_down:
            return 503, b"{}"
        asked = {name: each[0] for name, each in parse_qs(parts.query).items()}
        form = {name: each[0] for name, each in parse_qs(request.body.decode()).items()}
        match parts.path:
            case "/.well-known/openid-configuration":
                return self._json(
                    {
                        "issuer": self.issuer,
                        "authorization_endpoint": f"{self.issuer}/authorize",
                        "token_endpoint": f"{self.issuer}/token",
                        "jwks_uri": f"{self.issuer}/keys",
                    }
                )
            case "/keys":
                return self._json(self.keys)
            case "/authorize":
                code = f"code-{len(self._codes)}"
                self._codes[code] = asked
                back = urlencode({"code": code, "state": asked["state"]})
                return 302, b"", {"Location": f"{asked['redirect_uri']}?{back}"}
            case "/token":
                return self._token(form, request.headers.get("authorization", ""))
        return 404, b"{}"

    def _token(self, form: dict[str, str], authorization: str) -> Answer:
        if self.refusal is not None:
            return self.refusal
        if not authorization.startswith("Basic "):
            return 401, b"{}"
        now = int(time.time())
        common = {"iss": self.issuer, "sub": self.user, "iat": now, "exp": now + self.lifetime_s}
        tokens = {"access_token": self.sign({**common, "aud": "kafka"}), "refresh_token": "again"}
        if form["grant_type"] == "refresh_token":
            self.refreshed += 1
            return self._json(tokens)
        asked = self._codes.pop(form["code"], None)
        if asked is None or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, b'{"error": "invalid_grant"}'
        digest = sha256(form["code_verifier"].encode()).digest()
        if urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return 400, b'{"error": "invalid_grant"}'
        claims = {**common, "aud": CLIENT, "nonce": asked["nonce"]}
        return self._json({**tokens, "id_token": self.sign(self.change(claims))})

    @staticmethod
    def _json(value: object) -> Answer:
        return 200, json.dumps(value).encode(), {"Content-Type": "application/json"}
