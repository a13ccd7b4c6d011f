"""Avro values with the ids of their schemas in front of them, as columns."""

import json
from time import monotonic
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats.arrow.avro_columns import NoColumnError, Uses
from barnabas.formats.arrow.avro_decoder import NO_PROGRAM, AvroDecoder
from barnabas.formats.arrow.decoded import NO_VALUE, Decoded
from barnabas.formats.registered.avro import avro_model
from barnabas.formats.registered.registry import Registry
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.wire_format import HEADER
from barnabas.schemas.avro.parser import AvroParser
from barnabas.schemas.avro.types import AvroType
from barnabas.schemas.schema import InvalidSchemaError, JsonObject

NO_HEADER = -1
_MAX_UNKNOWN = 10_000
_UNKNOWN_S = 60.0
_EXCERPT = 16


class RegisteredAvroDecoder:
    """Decodes values of any registered schema into the columns of one."""

    def __init__(
        self,
        reader: AvroType,
        registry: Registry,
        uses: Uses = lambda _: True,
        *,
        is_lenient: bool = False,
    ) -> None:
        """As `AvroDecoder`. The registry is asked for a schema when a value has its id."""
        self.avro = AvroDecoder(reader, uses, is_lenient=is_lenient)
        self._registry = registry
        self._known: dict[int, int] = {}
        self._unusable: dict[int, tuple[str, float]] = {}
        """Ids without a schema to read with: why, and until when it is not asked for again."""

    @classmethod
    def of(cls, schema: type | JsonObject | str, registry: str | Registry) -> Self:
        """Decodes into the columns of a model, or of a schema as JSON.

            decoder = RegisteredAvroDecoder.of(Order, "http://localhost:8081")

        Raises `InvalidArgument`.
        """
        if isinstance(schema, type):
            model = avro_model(schema)
            if model is None:
                raise InvalidArgument("dict has no fields: give a model, or an Avro schema")
            schema = model.text
        text = schema if isinstance(schema, str) else json.dumps(schema)
        known = Registry(registry) if isinstance(registry, str) else registry
        try:
            return cls(AvroParser().parse(text), known)
        except (InvalidSchemaError, NoColumnError) as error:
            raise InvalidArgument(str(error)) from None

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """All values at once. Raises `RegistryUnreachable` if a schema can't be asked for."""
        ids = schema_ids(values)
        schemas = np.full(len(values), NO_PROGRAM, np.int32)
        problems: dict[int, str] = {}
        for number in np.unique(ids).tolist():
            if number == NO_HEADER:
                continue
            try:
                schemas[ids == number] = self._program(number)
            except ValidationFailed as error:
                problems[number] = error.problem
        found = self.avro.decode(values, schemas, HEADER)
        if not found.dead:
            return found
        reasons = [
            self._reason(values, position, int(ids[position]), reason, problems)
            for position, reason in zip(found.dead, found.reasons, strict=True)
        ]
        return found._replace(reasons=reasons)

    def _reason(
        self,
        values: pa.BinaryArray,
        position: int,
        number: int,
        reason: str,
        problems: dict[int, str],
    ) -> str:
        if reason == NO_VALUE:
            return reason
        if number == NO_HEADER:
            start = values[position].as_py()[:_EXCERPT]
            return f"the value does not begin with the id of a schema: {start!r}"
        if number in problems:
            return problems[number]
        return f"written with schema {number}: {reason}"

    def _program(self, number: int) -> int:
        found = self._known.get(number)
        if found is not None:
            return found
        problem, until = self._unusable.get(number, ("", 0.0))
        if monotonic() < until:
            raise ValidationFailed("", problem)
        try:
            self._registry.load(number)
            writer = avro_type(self._registry.schema(number))
        except ValidationFailed as error:
            if len(self._unusable) >= _MAX_UNKNOWN:
                self._unusable.clear()
            self._unusable[number] = (error.problem, monotonic() + _UNKNOWN_S)
            raise
        self._known[number] = self.avro.add(writer)
        return self._known[number]


def avro_type(schema: RegisteredSchema) -> AvroType:
    """Raises `ValidationFailed` for a schema of another kind, or that can't be read."""
    if schema.kind != "AVRO":
        raise ValidationFailed("", f"schema {schema.id} is {schema.kind}, not AVRO")
    parser = AvroParser(check_defaults=False)
    try:
        for _, definition in schema.references:
            parser.parse(definition)
        return parser.parse(schema.definition)
    except InvalidSchemaError as error:
        raise ValidationFailed("", f"schema {schema.id} can't be read: {error}") from None


def schema_ids(values: pa.BinaryArray) -> npt.NDArray[np.int64]:
    """The ids that values begin with; `NO_HEADER` for null, and what has no id."""
    count = len(values)
    _, ends, data = values.buffers()
    ids = np.full(count, NO_HEADER, np.int64)
    if data is None or not data.size or not count:
        return ids
    bounds = np.frombuffer(ends, np.int32)[values.offset : values.offset + count + 1]
    starts, sizes = bounds[:-1].astype(np.int64), np.diff(bounds)
    long_enough = sizes >= HEADER
    if values.null_count:
        long_enough &= values.is_valid().to_numpy(zero_copy_only=False)
    at = starts[long_enough]
    raw = np.frombuffer(data, np.uint8)
    number = np.zeros(len(at), np.int64)
    for place in range(1, HEADER):
        number = number << 8 | raw[at + place]
    ids[long_enough] = np.where(raw[at] == 0, number, NO_HEADER)
    return ids
