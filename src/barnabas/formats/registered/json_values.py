"""JSON with the id of a JSON Schema: what JSON can say, or models."""

import json
from collections.abc import Callable
from typing import Any

from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats.conversion import json_codec
from barnabas.formats.libraries import Codec, library_codec
from barnabas.formats.named import JSON
from barnabas.formats.registered.registry import Registry, SubjectVersion
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.subjects import Part
from barnabas.formats.registered.wire_format import header
from barnabas.formats.registered.written import TopicWriter
from barnabas.schemas.models.json import json_schema_of
from barnabas.schemas.schema import InvalidSchemaError, JsonObject


class JsonModel:
    """A model, its schema, and how it becomes JSON."""

    def __init__(self, kind: Any) -> None:
        """Raises `InvalidArgument`."""
        try:
            schema = json_schema_of(kind)
        except InvalidSchemaError as error:
            raise InvalidArgument(str(error)) from None
        self.name = str(schema["title"])
        self.text = json.dumps(schema)
        found: Codec | None = library_codec(kind)
        self.encode, self.decode = json_codec(kind) if found is None else found


class JsonTopicWriter(TopicWriter[Any]):
    """Writes what matches the schema of the model, or the latest of the subject."""

    kind = "JSON"

    def __init__(self, registry: Registry, topic: str, part: Part, model: JsonModel | None) -> None:
        super().__init__(registry, topic, part, None if model is None else model.name)
        self._model = model

    def _own_schema(self) -> JsonObject | None:
        return None if self._model is None else {"schema": self._model.text}

    def _writer(self, version: SubjectVersion) -> Callable[[Any], bytes]:
        check, start = json_validator(version.schema), header(version.schema.id)
        encode = JSON.encode if self._model is None else self._model.encode

        def write(value: Any) -> bytes:
            data = encode(value)
            check(json.loads(data))
            return start + data

        return write


def json_validator(schema: RegisteredSchema) -> Callable[[Any], None]:
    """Raises `ValidationFailed` for what does not match, with the field."""
    try:
        from jsonschema import validators
        from referencing import Registry as References
        from referencing.jsonschema import DRAFT7
    except ImportError:
        raise InvalidArgument(
            "JSON with a schema needs jsonschema: pip install 'barnabas[schemas]'"
        ) from None
    root = json.loads(schema.definition)
    others = {name: DRAFT7.create_resource(json.loads(text)) for name, text in schema.references}
    kind = validators.validator_for(root, default=validators.Draft7Validator)
    validator = kind(root, registry=References().with_resources(others.items()))

    def check(value: Any) -> None:
        for error in validator.iter_errors(value):
            field = "".join(
                f"[{each}]" if isinstance(each, int) else f".{each}" for each in error.path
            )
            raise ValidationFailed(field.lstrip("."), error.message)

    return check
