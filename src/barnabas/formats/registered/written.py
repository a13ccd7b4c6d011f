"""The schema that values of one topic are written with."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from barnabas.errors import BarnabasError, ValidationFailed
from barnabas.formats.registered.not_loaded import SchemaNotLoadedError
from barnabas.formats.registered.registry import Registry, SubjectVersion
from barnabas.formats.registered.subjects import Part
from barnabas.schemas.schema import JsonObject

T = TypeVar("T")


class TopicWriter(ABC, Generic[T]):
    """Encodes keys or values of one topic.

    `encode` raises `SchemaNotLoadedError` before the schema is known, and later `ValidationFailed`,
    which names the field and the version.
    """

    kind: str
    """As the registry names it: AVRO, JSON or PROTOBUF."""

    def __init__(self, registry: Registry, topic: str, part: Part, record: str | None) -> None:
        self._registry = registry
        self._record = record
        self._subject = registry.subject_of(topic, part, record)
        self._write: Callable[[T], bytes] | None = None
        self._version = ""
        self._lock = Lock()
        registry.keep(self)

    def encode(self, value: T) -> bytes:
        """With the id of the schema."""
        write = self._write
        if write is None:
            raise SchemaNotLoadedError(self.load)
        try:
            return write(value)
        except ValidationFailed as error:
            raise ValidationFailed(error.field, f"{error.problem} ({self._version})") from None

    def forget(self) -> None:
        """The registry is another one."""
        self._write = None

    def load(self) -> None:
        """Ask for the schema. Blocks."""
        with self._lock:
            if self._write is not None:
                return
            found = self._found()
            self._version = f"version {found.number} of {found.subject}"
            if found.schema.kind != self.kind:
                raise BarnabasError(
                    f"{self._version} at {self._registry.url} is {found.schema.kind}, not "
                    f"{self.kind}: choose another format"
                )
            self._write = self._writer(found)

    def _found(self) -> SubjectVersion:
        own = None if self._registry.uses_latest else self._own_schema()
        if own is None:
            return self._registry.latest(self._subject)
        name = self._record or "the value"
        return self._registry.version_of(self._subject, {"schemaType": self.kind, **own}, name)

    @abstractmethod
    def _own_schema(self) -> JsonObject | None:
        """What the registry is asked for; None if the application has no schema."""

    @abstractmethod
    def _writer(self, version: SubjectVersion) -> Callable[[Any], bytes]:
        """What writes values, with the header."""
