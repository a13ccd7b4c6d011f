"""Pins the base image of the container by its digest, in ops/container/Dockerfile.

`make lock` calls it. It asks the registry for the image that the name means now, as a container
runtime does, and needs none. Where the registry can't be reached, the Dockerfile stays as it is.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

DOCKERFILE = Path(__file__).resolve().parent.parent / "ops/container/Dockerfile"
REGISTRY = "https://registry-1.docker.io"
"""Where names without a registry are found."""
_BASE = re.compile(
    r"^ARG BASE=(?P<name>[a-z0-9/-]+):(?P<tag>[\w.-]+)(@sha256:[0-9a-f]{64})?$", re.MULTILINE
)
_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
"""Lists of an image's platforms, so that the pin serves all of them."""
_TIMEOUT_S = 20


def pin_base_image(dockerfile: Path = DOCKERFILE, registry: str = REGISTRY) -> int:
    """The exit code: 0 also if the registry can't be reached."""
    text = dockerfile.read_text()
    found = _BASE.search(text)
    if found is None:
        print(f"{dockerfile} has no line ARG BASE=NAME:TAG", file=sys.stderr)
        return 1
    name, tag = found["name"], found["tag"]
    try:
        digest = digest_of(name, tag, registry)
    except (OSError, ValueError) as error:
        print(f"the base image is left as it is, {found[0]}: {registry}: {error}", file=sys.stderr)
        return 0
    pinned = f"ARG BASE={name}:{tag}@{digest}"
    dockerfile.write_text(text.replace(found[0], pinned))
    print(pinned)
    return 0


def digest_of(name: str, tag: str, registry: str = REGISTRY) -> str:
    """The digest of an image for all its platforms. Raises OSError and ValueError."""
    repository = name if "/" in name else f"library/{name}"
    address = f"{registry}/v2/{repository}/manifests/{tag}"
    accept = {"Accept": ", ".join(_INDEXES)}
    try:
        index, kind = _get(address, accept)
    except HTTPError as error:
        if error.code != 401:
            raise
        token = _token(error.headers.get("WWW-Authenticate", ""))
        index, kind = _get(address, {**accept, "Authorization": f"Bearer {token}"})
    if kind not in _INDEXES:
        raise ValueError(f"{name}:{tag} is a {kind}, which is not a list of platforms")
    return f"sha256:{hashlib.sha256(index).hexdigest()}"


def _token(challenge: str) -> str:
    """What anyone gets to read a public image."""
    parameters = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    realm = parameters.pop("realm", "")
    if not challenge.startswith("Bearer ") or not realm:
        raise ValueError(f"unknown way to sign in: {challenge!r}")
    answer, _ = _get(f"{realm}?{urlencode(parameters)}", {})
    token: str = json.loads(answer)["token"]
    return token


def _get(address: str, headers: dict[str, str]) -> tuple[bytes, str]:
    with urlopen(Request(address, headers=headers), timeout=_TIMEOUT_S) as response:
        content: bytes = response.read()
        return content, response.headers.get_content_type()


if __name__ == "__main__":
    sys.exit(pin_base_image())
