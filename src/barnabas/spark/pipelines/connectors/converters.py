"""Converters of Kafka Connect: what the keys and values of a connector's topics are.

A converter belongs to the topics at the other end of a connector. Here rows have columns, and what
a key or value becomes follows from the settings of that end. So a converter confirms these, or is
refused with the setting that does what it asks for; only `string` changes something by itself.
"""

from collections.abc import Mapping

from barnabas.spark.pipelines.connectors.settings import ConfigErrors

CONVERTERS = {
    "org.apache.kafka.connect.json.JsonConverter": "json",
    "org.apache.kafka.connect.storage.StringConverter": "string",
    "org.apache.kafka.connect.converters.ByteArrayConverter": "bytes",
}
"""Converters by class; the short names are understood too."""

_PARTS = ("key", "value")
_AS_THEY_ARE = ("string", "bytes")


def converter_of(config: Mapping[str, str], part: str = "value") -> str | None:
    """The short name of a converter; None if there is none."""
    given = config.get(f"{part}.converter")
    return None if given is None else CONVERTERS.get(given, given)


def check_converters(config: Mapping[str, str], errors: ConfigErrors) -> None:
    """Refuse classes that are unknown, and JSON with a schema in every record."""
    for part in _PARTS:
        name = f"{part}.converter"
        found = converter_of(config, part)
        if found is not None and found not in CONVERTERS.values():
            errors.add(
                name,
                f"{name}: {found} is not supported; use {', '.join(CONVERTERS)}, or for Avro and "
                "Protobuf source.format and source.schema",
            )
        default = "true" if found == "json" else "false"
        if config.get(f"{name}.schemas.enable", default).lower() == "true":
            errors.add(
                f"{name}.schemas.enable",
                f"{name}: JSON with a schema in every record is not supported; set "
                f"{name}.schemas.enable=false",
            )


def refuse_converters(config: Mapping[str, str], why: str, errors: ConfigErrors) -> None:
    """Refuse converters of a connector that has no topics at its other end."""
    for name in config:
        if name.startswith(tuple(f"{part}.converter" for part in _PARTS)):
            errors.add(name, f"{name} would be ignored: {why}; remove it")


def check_read_converters(
    config: Mapping[str, str], source: Mapping[str, str], errors: ConfigErrors
) -> None:
    """Converters of records that are read; `source` are the arguments of `from_topic`."""
    value, key = converter_of(config), converter_of(config, "key")
    schema = source.get("schema")
    if value == "json" and schema is None:
        errors.add(
            "source.schema",
            "Missing required setting 'source.schema': the columns of the JSON values, such as "
            '"id BIGINT, name STRING"',
        )
    if value in _AS_THEY_ARE and schema is not None:
        errors.add("source.schema", "source.schema is for JSON values; set value.converter to JSON")
    if value == "json" and source.get("format", "json") != "json":
        errors.add(
            "value.converter",
            f"value.converter: source.format is {source['format']}; remove one of the two",
        )
    if key == "json" and (schema is None or _has_key(source)):
        errors.add(
            "key.converter",
            "key.converter: keys are not decoded; set source.key=COLUMN and the string converter, "
            "and decode the column in transform.sql, as from_json(COLUMN, 'id BIGINT')",
        )
    if key == "bytes" and source.get("key"):
        errors.add(
            "key.converter",
            "key.converter: source.key is the key as text; for bytes set source.record=key instead",
        )
    if key == "string" and schema is not None and not source.get("key") and _has_key(source):
        errors.add(
            "key.converter",
            "key.converter: the key in the column record is bytes; for text set source.key=COLUMN",
        )


def read_as_text(config: Mapping[str, str], source: Mapping[str, str]) -> tuple[str, ...]:
    """Which of key and value are cast to text; a key without a converter has the value's."""
    if "schema" in source:
        return ()
    value = converter_of(config)
    found = {"key": converter_of(config, "key") or value, "value": value}
    return tuple(part for part in _PARTS if found[part] == "string")


def check_written_converters(
    config: Mapping[str, str], sink: Mapping[str, str], *, envelope: bool, errors: ConfigErrors
) -> None:
    """Converters of records that are written; `sink` are the arguments of `to_topic`.

    `envelope` says that rows are records of changes, which are JSON already.
    """
    value, key = converter_of(config), converter_of(config, "key")
    selects = bool({"transform.sql", "transforms"} & config.keys())
    columns = [each for each in sink.get("key", "").split(",") if each.strip()]
    if value in _AS_THEY_ARE and "transform.sql" not in config:
        errors.add(
            "value.converter",
            "value.converter: rows are written as JSON; for other values select them as the column "
            "`value` in transform.sql",
        )
    if key in _AS_THEY_ARE and envelope and not selects:
        errors.add("key.converter", "key.converter: keys of changes are JSON; use its converter")
    if key == "json" and len(columns) == 1:
        errors.add(
            "key.converter",
            f"key.converter: a key of one column ({columns[0]}) is written as text; use the string "
            "converter, or name several columns in sink.key for a JSON object",
        )
    if key in _AS_THEY_ARE and len(columns) > 1:
        errors.add(
            "key.converter",
            "key.converter: a key of several columns is a JSON object; use the JSON converter, or "
            "name one column in sink.key",
        )


def _has_key(source: Mapping[str, str]) -> bool:
    fields = {each.strip() for each in source.get("record", "").split(",")}
    return "key" in fields or bool(source.get("key"))
