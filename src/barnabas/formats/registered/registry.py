"""A registry as clients use it."""

from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

from barnabas.errors import BarnabasError, InvalidArgument, ValidationFailed
from barnabas.formats.registered.address import RegistryAddress
from barnabas.formats.registered.client import RegistryAnswerError, RegistryClient
from barnabas.formats.registered.not_loaded import SchemaNotLoadedError
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.subjects import SubjectName, SubjectOf, subject_of
from barnabas.schemas.schema import Json, JsonObject

_TIMEOUT_S = 10.0
_MAX_REFERENCES = 100
_MAX_UNKNOWN = 1_000
_NOT_FOUND = {404, 40401, 40402, 40403}


class SubjectVersion(NamedTuple):
    """A schema, and where it is registered."""

    subject: str
    number: int
    schema: RegisteredSchema


class ReferencesError(BarnabasError):
    """A schema refers to too many others, or to itself."""


class Forgets(Protocol):
    """What keeps ids of schemas."""

    def forget(self) -> None: ...


class Registry:
    """A schema registry: that of Barnabas, Confluent's, or another one with the same REST API.

        Producer(value=Order, value_format="avro", registry=Registry(URL, use_latest=True))

    Schemas are asked for once and kept. Several clients may share a registry.
    """

    def __init__(
        self,
        url: str,
        *,
        subjects: SubjectName | SubjectOf = "topic",
        register: bool = False,
        use_latest: bool = False,
        latest_with: Mapping[str, str] | None = None,
        certificates: str | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        """Nothing is asked before a schema is needed.

        - `url`: such as "http://localhost:8081"; "https://USER:PASSWORD@HOST" signs in.
        - `subjects`: where schemas are: "topic" (TOPIC-key, TOPIC-value), "record" (the full name
          of the record), "topic-record" (TOPIC-NAME), or a function of topic, part and name.
        - `register`: register the schemas of models that are not registered. By default that is an
          error, so that schemas change only where they are meant to, in a deployment for example.
        - `use_latest`: write with the latest version of the subject, instead of the schema of the
          model. It is asked for once.
        - `latest_with`: the same with the latest version whose metadata has these properties.
        - `certificates`: a PEM file with those to trust, instead of those of the system.
        - `timeout_s`: how long an answer may take.
        """
        if register and (use_latest or latest_with):
            raise InvalidArgument("register=True and use_latest=True exclude each other")
        self.client = RegistryClient(url, timeout_s, certificates=certificates)
        self.address = RegistryAddress(url, certificates, timeout_s)
        self.subject_of = subject_of(subjects)
        self.registers = register
        self.uses_latest = use_latest or latest_with is not None
        self.latest_with = dict(latest_with or {})
        self._schemas: dict[int, RegisteredSchema] = {}
        self._unknown: dict[int, str] = {}
        self._users: WeakSet[Forgets] = WeakSet()
        self._lock = Lock()

    @property
    def url(self) -> str:
        """Without user and password."""
        return self.client.url

    def keep(self, user: Forgets) -> None:
        """Tell it when another registry is at this URL."""
        self._users.add(user)

    def forget(self) -> None:
        """Ask again for all that is known."""
        self._schemas.clear()
        self._unknown.clear()
        for each in list(self._users):
            each.forget()

    # -- by id ---------------------------------------------------------------------------------

    def is_known(self, number: int) -> bool:
        """Whether it was asked for, and answered."""
        return number in self._schemas or number in self._unknown

    def schema(self, number: int) -> RegisteredSchema:
        """Raises `SchemaNotLoadedError`, or `ValidationFailed` if there is none."""
        found = self._schemas.get(number)
        if found is not None:
            return found
        problem = self._unknown.pop(number, None)  # asked for again next time
        if problem is not None:
            raise ValidationFailed("", problem)
        raise SchemaNotLoadedError(lambda: self.load(number))

    def load(self, number: int) -> None:
        """Ask for a schema, and remember it. Blocks. Raises `RegistryUnreachable`.

        A schema that is missing or denied is remembered too: others may be asked for, so only what
        was written with this one can't be read.
        """
        with self._lock:
            if number in self._schemas:
                return
            try:
                self._schemas[number] = self._asked(number)
            except RegistryAnswerError as error:
                if not error.is_of_request:
                    raise
                said = f"does not give schema {number}: {error}"
                if error.code in _NOT_FOUND:
                    said = f"has no schema {number}"
                self._note_unknown(number, f"the registry at {self.url} {said}")
            except ReferencesError as error:  # anyone may send records of it
                self._note_unknown(number, f"schema {number} can't be used: {error}")

    def _note_unknown(self, number: int, problem: str) -> None:
        if len(self._unknown) >= _MAX_UNKNOWN:
            self._unknown.clear()
        self._unknown[number] = problem

    def _asked(self, number: int) -> RegisteredSchema:
        answer = self._get("schemas", "ids", str(number))
        if _kind(answer) == "PROTOBUF":
            answer = self._get("schemas", "ids", str(number), format="serialized")
        return self._registered(number, answer)

    # -- by subject ----------------------------------------------------------------------------

    def latest(self, subject: str) -> SubjectVersion:
        """The latest version, or the latest with `latest_with`. Blocks."""
        try:
            if self.latest_with:
                answer = self._latest_with(subject)
            else:
                answer = self._get("subjects", subject, "versions", "latest")
        except RegistryAnswerError as error:
            if error.code not in _NOT_FOUND:
                raise
            having = f" with metadata {self.latest_with}" if self.latest_with else ""
            raise BarnabasError(
                f"the registry at {self.url} has no schema{having} under subject {subject}; "
                f"register one: barnabas schemas register {subject} FILE"
            ) from None
        return self._version(subject, answer)

    def _latest_with(self, subject: str) -> JsonObject:
        names: dict[str, Any] = {
            "key": list(self.latest_with),
            "value": list(self.latest_with.values()),
        }
        return self._object(self.client.call("GET", "subjects", subject, "metadata", **names))

    def version_of(self, subject: str, body: JsonObject, name: str) -> SubjectVersion:
        """The version that has this schema, which `register=True` registers. Blocks."""
        try:
            if self.registers:
                self.client.call("POST", "subjects", subject, "versions", body=body)
            answer = self._object(self.client.call("POST", "subjects", subject, body=body))
        except RegistryAnswerError as error:
            if error.code in _NOT_FOUND:
                raise BarnabasError(
                    f"the schema of {name} is not registered under subject {subject} at "
                    f"{self.url}: register it (barnabas schemas register {subject} FILE, or "
                    "Registry(URL, register=True)), or write with the latest version "
                    "(Registry(URL, use_latest=True))"
                ) from None
            raise BarnabasError(
                f"the registry at {self.url} refuses the schema of {name} under subject "
                f"{subject}: {error}"
            ) from None
        return self._version(subject, answer)

    def _version(self, subject: str, answer: JsonObject) -> SubjectVersion:
        number, version = answer.get("id"), answer.get("version")
        if not isinstance(number, int) or not isinstance(version, int):
            raise self._stranger()
        return SubjectVersion(subject, version, self._registered(number, answer))

    # -- answers -------------------------------------------------------------------------------

    def _registered(self, number: int, answer: JsonObject) -> RegisteredSchema:
        references: dict[str, str] = {}
        self._references(answer, references, set())
        return RegisteredSchema(
            number, _kind(answer), str(answer["schema"]), tuple(references.items())
        )

    def _references(self, answer: JsonObject, found: dict[str, str], asked: set[str]) -> None:
        """Those that a reference has come before it. A reference to the latest version may have
        become a circle since."""
        query = {"format": "serialized"} if _kind(answer) == "PROTOBUF" else {}
        listed = answer.get("references") or []
        for each in listed if isinstance(listed, list) else []:
            if not isinstance(each, dict) or not {"name", "subject", "version"} <= each.keys():
                raise self._stranger()
            name = str(each["name"])
            if name in found:
                continue
            if name in asked:
                raise ReferencesError(f"schemas refer to each other: {', '.join(sorted(asked))}")
            if len(asked) >= _MAX_REFERENCES:
                raise ReferencesError(f"a schema refers to more than {_MAX_REFERENCES} others")
            asked.add(name)
            path = ("subjects", str(each["subject"]), "versions", str(each["version"]))
            inner = self._get(*path, **query)
            self._references(inner, found, asked)
            found[name] = str(inner["schema"])

    def _get(self, *path: str, **query: str) -> JsonObject:
        return self._object(self.client.call("GET", *path, **query))

    def _object(self, answer: Json) -> JsonObject:
        if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
            raise self._stranger()
        return answer

    def _stranger(self) -> BarnabasError:
        return BarnabasError(f"{self.url} does not answer as a schema registry does")


def _kind(answer: JsonObject) -> str:
    return str(answer.get("schemaType") or "AVRO").upper()
