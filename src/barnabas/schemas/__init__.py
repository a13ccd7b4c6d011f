"""Schemas of values: from Python types, parsing, texts, and compatibility. No network.

    barnabas.schemas.avro_of(Order)         # of a dataclass, TypedDict, pydantic or msgspec model
    barnabas.schemas.json_schema_of(Order)

schema         a schema as a registry stores it, and its fingerprint
parsing        schemas of any kind, with those they refer to
compatibility  whether a schema may follow earlier versions
check_time     how long that may take
incompatibility  one reason why not
unscaled       decimal numbers without rounding
json_text      JSON as Java writes it
avro/          Avro
json_schema/   JSON Schema
protobuf/      Protobuf
models/        schemas of Python types
"""

from barnabas.schemas.models.avro import avro_of
from barnabas.schemas.models.digits import Digits
from barnabas.schemas.models.json import json_schema_of
from barnabas.schemas.schema import InvalidSchemaError

__all__ = ["Digits", "InvalidSchemaError", "avro_of", "json_schema_of"]
