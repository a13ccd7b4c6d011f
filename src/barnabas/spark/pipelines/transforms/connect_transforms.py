"""The transforms of a connector's settings (`transforms`, `transforms.x.type`, …) on DataFrames."""

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import DataFrame

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.transforms import field_transforms as of_fields
from barnabas.spark.pipelines.transforms import record_transforms as of_records
from barnabas.spark.pipelines.transforms.field_transforms import Apply
from barnabas.spark.pipelines.transforms.flowing_rows import FlowingRows
from barnabas.spark.pipelines.transforms.predicates import Predicate, predicate_named
from barnabas.spark.pipelines.transforms.transform_settings import TransformSettings

_PACKAGE = "org.apache.kafka.connect.transforms."
_FILTER: Final = "Filter"
TRANSFORMS: Final[dict[str, Callable[[TransformSettings], Apply]]] = {
    "Cast$Value": of_fields.cast,
    "ExtractField$Key": of_fields.extract_key_field,
    "ExtractField$Value": of_fields.extract_field,
    "Flatten$Value": of_fields.flatten,
    "HoistField$Value": of_fields.hoist_field,
    "InsertField$Value": of_fields.insert_field,
    "MaskField$Value": of_fields.mask_field,
    "RegexRouter": of_records.regex_router,
    "ReplaceField$Value": of_fields.replace_field,
    "TimestampConverter$Value": of_records.timestamp_converter,
    "TimestampRouter": of_records.timestamp_router,
    "ValueToKey": of_records.value_to_key,
}


def connect_transforms(
    settings: Mapping[str, str], *, topic: str | None = None
) -> Callable[[DataFrame], DataFrame]:
    """A function that applies the transforms of a connector's settings to rows.

    `settings` has `transforms`, `transforms.NAME.type` and so on, `predicates` too; other settings
    are ignored. `topic` is the topic that the rows come from or go to, for routers and predicates.
    Rows stay rows with the columns of the value; if a transform makes a key or a topic, they become
    records with the columns `key`, `value` and `topic`, as `to_topic(…, topic_per_row=True)` takes
    them. Raises `InvalidArgument` for a transform or a setting that is unknown.
    """
    for kind in ("predicates", "transforms"):
        _check_listed(kind, settings)
    known = {name: _predicate(name, settings) for name in _listed(settings.get("predicates", ""))}
    names = _listed(settings.get("transforms", ""))
    steps = [_step(name, settings, known) for name in names]
    used = {settings.get(f"transforms.{name}.predicate") for name in names}
    for unused in known.keys() - used:
        raise InvalidArgument(f"predicates.{unused}: no transform uses it; remove it")

    def apply(rows: DataFrame) -> DataFrame:
        flowing = FlowingRows(rows, topic)
        for step in steps:
            flowing = step(flowing)
        return flowing.records()

    return apply


def _check_listed(kind: str, settings: Mapping[str, str]) -> None:
    """Raise for settings of a transform or predicate that is not in its list."""
    listed = tuple(f"{kind}.{each}." for each in _listed(settings.get(kind, "")))
    for name in settings:
        if name.startswith(f"{kind}.") and not name.startswith(listed):
            raise InvalidArgument(f"{name}: name it in {kind}, or remove this")


def _predicate(name: str, settings: Mapping[str, str]) -> Predicate:
    own = TransformSettings(f"predicates.{name}.", settings)
    made = Predicate(own)
    own.check_all_asked()
    return made


def _step(name: str, settings: Mapping[str, str], known: dict[str, Predicate]) -> Apply:
    own = TransformSettings(f"transforms.{name}.", settings)
    given = own.text("type")
    kind = given.removeprefix(_PACKAGE)
    chosen, negate = own.optional("predicate"), own.flag("negate", False)
    predicate = None if chosen is None else predicate_named(chosen, known)
    if predicate is None and negate:
        raise own.wrong("negate", "it negates a predicate; set that as well")
    if kind == _FILTER:
        made = _filter(own, predicate, negate)
    elif kind in TRANSFORMS:
        if predicate is not None:
            raise own.wrong(
                "predicate",
                f"{kind} applies to all rows here, since all have the same columns; a predicate is "
                "for Filter",
            )
        made = TRANSFORMS[kind](own)
    else:
        names = ", ".join([*TRANSFORMS, _FILTER])
        raise own.wrong("type", f"unknown transform {given!r}; use {names}")
    own.check_all_asked()
    return _explained(name, made)


def _filter(own: TransformSettings, predicate: Predicate | None, negate: bool) -> Apply:
    if predicate is None:
        raise own.wrong("predicate", "Filter without a predicate would drop every row")
    chosen = predicate

    def apply(flowing: FlowingRows) -> FlowingRows:
        holds = chosen.holds(flowing)
        return flowing.where(holds if negate else ~holds)

    return apply


def _explained(name: str, apply: Apply) -> Apply:
    """Errors name the transform."""

    def explained(flowing: FlowingRows) -> FlowingRows:
        try:
            return apply(flowing)
        except InvalidArgument as error:
            text = str(error)
            prefix = f"transforms.{name}"
            raise InvalidArgument(
                text if text.startswith(prefix) else f"{prefix}: {text}"
            ) from None

    return explained


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
