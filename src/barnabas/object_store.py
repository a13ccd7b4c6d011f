"""An object store, or the few things that are done with one, by pyarrow's file systems.

A URL is `s3://bucket/folder`. Credentials are found as by Amazon's own tools (`AWS_ACCESS_KEY_ID`,
`~/.aws`, the role of the machine), as is the server (`AWS_ENDPOINT_URL`); or they are in the URL:
`s3://key:secret@bucket/folder?endpoint_override=host:9000&scheme=http&region=us-east-1`, with `%2F`
for a `/` in the secret.

An object appears as a whole, or not at all, when its upload ends, and lists show it at once.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

try:
    import pyarrow as pa
    from pyarrow import fs
except ImportError as missing:
    raise ImportError("object stores need pyarrow: pip install 'barnabas[arrow]'") from missing

from barnabas.errors import BarnabasError, InvalidArgument

SCHEME = "s3://"
_COPIED_BYTES = 1 << 20
_SECRET = re.compile(r"(://[^/:@]*):[^?\s]*@")
_PARAMETERS = ("endpoint_override", "region", "scheme")
_ANY_REGION = "us-east-1"
"""What servers other than Amazon's take."""


class ObjectStoreError(BarnabasError):
    """The store refuses something, or can't be reached."""


class StoredObject(NamedTuple):
    """An object, by its name below the folder."""

    name: str
    size: int
    time: int
    """When it was written, in seconds."""


def is_object_url(path: str) -> bool:
    """Whether a path is in an object store that is used without Spark's own file systems."""
    return path.startswith(SCHEME)


class ObjectStore:
    """A folder of a bucket. It connects when it is used first, also after it was pickled."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opened: tuple[fs.FileSystem, str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url, "_opened": None}

    @property
    def description(self) -> str:
        """The URL without secrets, and without its parameters."""
        scheme, mark, rest = _SECRET.sub(r"\1@", self.url).partition("?")[0].partition("://")
        bucket, slash, folder = rest.partition("/")
        return f"{scheme}{mark}{bucket.partition(':')[0]}{slash}{folder}"

    def check(self) -> None:
        """Raise `InvalidArgument` if the URL is wrong; nothing is connected."""
        parts = urlsplit(self.url)
        if "@" not in parts.netloc and ("@" in self.url or ":" in parts.netloc):
            # Nothing of it is shown: what looks like the bucket may be a part of the secret.
            raise InvalidArgument(
                "the URL of the object store is not s3://key:secret@bucket/folder; in key, secret "
                "and folder write %2F for /, %23 for #, %3F for ? and %40 for @"
            )
        if not parts.hostname:
            raise InvalidArgument(f"{self.description} is not a URL such as s3://bucket/folder")
        for name, _ in parse_qsl(parts.query, keep_blank_values=True):
            if name not in _PARAMETERS:
                raise InvalidArgument(
                    f"{name} in the URL is not supported; use {', '.join(_PARAMETERS)} there"
                )

    # -- one object -------------------------------------------------------------------------------

    def read(self, name: str) -> bytes | None:
        """All of an object; None if there is none."""
        with self._explained(f"reading {name}") as (system, path):
            try:
                with system.open_input_stream(f"{path}/{name}", compression=None) as stream:
                    return bytes(stream.read())
            except FileNotFoundError:
                return None

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """An object to read from, decompressed as its name says."""
        with (
            self._explained(f"reading {name}") as (system, path),
            system.open_input_stream(f"{path}/{name}") as stream,
        ):
            yield stream

    @contextmanager
    def opened_file(self, name: str) -> Iterator[Any]:
        """An object to read from anywhere in it."""
        with (
            self._explained(f"reading {name}") as (system, path),
            system.open_input_file(f"{path}/{name}") as file,
        ):
            yield file

    def write(self, name: str, content: bytes) -> None:
        """Write an object, instead of the one that is there."""
        with (
            self._explained(f"writing {name}") as (system, path),
            system.open_output_stream(f"{path}/{name}", compression=None) as stream,
        ):
            stream.write(content)

    def upload(self, name: str, file: Path) -> None:
        """Write an object with the content of a file."""
        with (
            self._explained(f"writing {name}") as (system, path),
            file.open("rb") as source,
            system.open_output_stream(f"{path}/{name}", compression=None) as stream,
        ):
            _copy(source, stream)

    def copy(self, name: str, to: str) -> None:
        """Copy an object within the store."""
        with self._explained(f"writing {to}") as (system, path):
            system.copy_file(f"{path}/{name}", f"{path}/{to}")

    def delete(self, name: str) -> None:
        """Delete an object; it may be gone already."""
        with (
            self._explained(f"deleting {name}") as (system, path),
            suppress(FileNotFoundError),
        ):
            system.delete_file(f"{path}/{name}")

    def delete_folders(self) -> None:
        """Delete the empty objects that stand for folders, when all others are deleted."""
        with (
            self._explained("deleting folders") as (system, path),
            suppress(FileNotFoundError),
        ):
            system.delete_dir(path)

    def info(self, name: str) -> StoredObject | None:
        """An object; None if there is none."""
        with self._explained(f"reading {name}") as (system, path):
            found = system.get_file_info(f"{path}/{name}")
        return _stored(found, name) if found.type == fs.FileType.File else None

    # -- all --------------------------------------------------------------------------------------

    def list(self, below: str = "") -> list[StoredObject]:
        """All objects of the folder, or of one in it."""
        with self._explained("listing") as (system, path):
            try:
                found = system.get_file_info(
                    fs.FileSelector(f"{path}/{below}".rstrip("/"), recursive=True)
                )
            except FileNotFoundError:  # nothing is below it; a missing bucket is another error
                return []
        return [
            _stored(each, each.path[len(path) + 1 :])
            for each in found
            if each.type == fs.FileType.File
        ]

    def _open(self) -> tuple[fs.FileSystem, str]:
        try:
            system, path = fs.FileSystem.from_uri(_complete(self.url))
        except (ValueError, pa.ArrowException):  # which would show the URL with its secret
            raise ObjectStoreError(
                f"{self.description} can't be parsed; percent-encode special characters of the "
                "key, the secret and the folder"
            ) from None
        return system, path.rstrip("/")

    @contextmanager
    def _explained(self, doing: str) -> Iterator[tuple[fs.FileSystem, str]]:
        try:
            if self._opened is None:
                self._opened = self._open()
            yield self._opened
        except FileNotFoundError as error:
            raise ObjectStoreError(f"{self.description}: {doing}: it is not there") from error
        except (OSError, pa.ArrowException) as error:
            raise ObjectStoreError(f"{self.description}: {doing}: {_reason(error)}") from error


def _complete(url: str) -> str:
    """The URL with server and region, which pyarrow would otherwise ask Amazon for."""
    if not is_object_url(url):
        return url
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if server and "endpoint_override" not in given:
        place = urlsplit(server)
        given |= {"scheme": place.scheme, "endpoint_override": place.netloc}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None and "endpoint_override" in given:
        region = _ANY_REGION
    if region:
        given.setdefault("region", region)
    return parts._replace(query=urlencode(given)).geturl()


def _stored(found: fs.FileInfo, name: str) -> StoredObject:
    return StoredObject(name, found.size, (found.mtime_ns or 0) // 1_000_000_000)


def _copy(source: IO[bytes], target: Any) -> None:
    shutil.copyfileobj(source, target, _COPIED_BYTES)


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
