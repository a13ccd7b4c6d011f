"""Conditions on records, by Connect's names."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.transforms.field_transforms import record_part
from barnabas.spark.pipelines.transforms.flowing_rows import FlowingRows, named
from barnabas.spark.pipelines.transforms.java_regex import java_pattern
from barnabas.spark.pipelines.transforms.transform_settings import TransformSettings

PREDICATES = ("TopicNameMatches", "RecordIsTombstone", "HasHeaderKey")


class Predicate:
    """A condition; `holds` is it for the rows."""

    def __init__(self, settings: TransformSettings) -> None:
        self.type = settings.text("type").rpartition(".")[2]
        if self.type not in PREDICATES:
            raise settings.wrong(
                "type", f"unknown predicate {self.type!r}; use {', '.join(PREDICATES)}"
            )
        self._pattern = self._header = ""
        if self.type == "TopicNameMatches":
            self._pattern = java_pattern(settings, "pattern")
        if self.type == "HasHeaderKey":
            self._header = settings.text("name")

    def holds(self, flowing: FlowingRows) -> Column:
        if self.type == "TopicNameMatches":
            return flowing.topic_column.rlike(f"^(?:{self._pattern})$")
        if self.type == "RecordIsTombstone":
            nothing = F.lit(True)
            for each in flowing.fields:
                nothing = nothing & named(each.name).isNull()
            return nothing
        headers = record_part(flowing, "headers")
        return F.coalesce(F.exists(headers, lambda each: each["key"] == self._header), F.lit(False))


def predicate_named(name: str, known: dict[str, Predicate]) -> Predicate:
    """One of the predicates that `predicates` lists."""
    found = known.get(name)
    if found is None:
        raise InvalidArgument(
            f"unknown predicate {name!r}; predicates lists {', '.join(known) or 'none'}"
        )
    return found
