"""The kinds of schemas that a registry takes, by `barnabas.schemas`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import thread_time

from barnabas.registry.model.checks import Resolve, UnusableSchemaError
from barnabas.registry.model.contents import Reference, SchemaContent
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.protobuf_files.reading import text_of
from barnabas.registry.protobuf_files.writing import compiled
from barnabas.schemas.check_time import CheckTime
from barnabas.schemas.compatibility import Compatibility, check
from barnabas.schemas.incompatibility import Incompatibility
from barnabas.schemas.parsing import ParsedSchema, parse
from barnabas.schemas.protobuf.parsed import ParsedProtobuf
from barnabas.schemas.schema import InvalidSchemaError, Schema, SchemaKind, SchemaReference

_COMPILED = "serialized"
_PARSED_CHARACTERS = 4_000_000
"""How many characters the parsed schemas have that are kept; each takes up to 50 bytes, parsed."""


class ParsedChecks:
    """Parses schemas, and keeps those that were parsed lately."""

    kinds: Sequence[str] = ("JSON", "PROTOBUF", "AVRO")

    def __init__(self) -> None:
        self._parsed: dict[tuple[SchemaContent, bool], ParsedSchema] = {}
        self._characters = 0

    def canonical(self, content: SchemaContent, resolve: Resolve, *, normalize: bool) -> str:
        with _bounded():
            if content.kind == SchemaKind.PROTOBUF:
                content = replace(content, text=text_of(content.text))
            found = self._parse(content, resolve, strict=True)
            return found.normalized() if normalize else found.canonical()

    def formatted(self, content: SchemaContent, form: str, resolve: Resolve) -> str:
        if form != _COMPILED or content.kind != SchemaKind.PROTOBUF:
            return content.text
        with _bounded():
            parsed = self._parse(content, resolve, strict=False)
            assert isinstance(parsed, ParsedProtobuf)
            return compiled(parsed)

    def incompatibilities(
        self,
        content: SchemaContent,
        earlier: Sequence[SchemaVersion],
        level: str,
        resolve: Resolve,
    ) -> list[str]:
        wanted = Compatibility(level)
        if wanted is Compatibility.NONE:
            return []
        time = CheckTime(thread_time)
        versions = []
        with _bounded():
            new = self._parse(content, resolve, strict=True)
            for each in earlier if wanted.is_transitive else earlier[-1:]:
                time.look()
                versions.append((each.version, self._parse(each.content, resolve, strict=False)))
            return [_detail(each) for each in check(new, versions, wanted, time)]

    def _parse(self, content: SchemaContent, resolve: Resolve, *, strict: bool) -> ParsedSchema:
        key = (SchemaContent(content.kind, content.text, content.references), strict)
        found = self._parsed.pop(key, None)
        if found is not None:
            self._parsed[key] = found  # the latest
            return found
        found = _parse(content, resolve, strict=strict)
        if not content.references:  # what those mean, may change
            self._parsed[key] = found
            self._characters += len(content.text)
            while self._characters > _PARSED_CHARACTERS:
                oldest, _ = first = next(iter(self._parsed))
                del self._parsed[first]
                self._characters -= len(oldest.text)
        return found


@contextmanager
def _bounded() -> Iterator[None]:
    """What is nested too deeply, or takes too long, is refused as other schemas are."""
    try:
        yield
    except InvalidSchemaError as error:
        raise UnusableSchemaError(str(error)) from error
    except RecursionError:
        raise UnusableSchemaError("the schema is nested too deeply") from None


def _parse(content: SchemaContent, resolve: Resolve, *, strict: bool) -> ParsedSchema:
    def resolve_reference(reference: SchemaReference) -> Schema:
        wanted = Reference(reference.name, reference.subject, reference.version)
        return _schema(resolve(wanted))

    try:
        return parse(_schema(content), resolve_reference, strict=strict)
    except InvalidSchemaError as error:
        raise UnusableSchemaError(str(error)) from error


def _schema(content: SchemaContent) -> Schema:
    references = tuple(
        SchemaReference(each.name, each.subject, each.version) for each in content.references
    )
    return Schema(SchemaKind(content.kind), content.text, references)


def _detail(found: Incompatibility) -> str:
    """One reason, in the form that clients of Confluent's registry show."""
    return (
        f"{{errorType:'{found.kind}', description:'{found.message}', "
        f"additionalInfo:'{found.field or found.path}', oldSchemaVersion: {found.version}}}"
    )
