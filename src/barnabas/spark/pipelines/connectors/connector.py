"""A connector: a name and settings, which say what pipelines it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.converters import read_as_text
from barnabas.spark.pipelines.connectors.driver_settings import check_spark, spark_conf
from barnabas.spark.pipelines.connectors.java_names import JAVA_NAMES
from barnabas.spark.pipelines.connectors.kinds import (
    PIPELINE,
    ConnectorKind,
    Direction,
    kind_named,
)
from barnabas.spark.pipelines.connectors.mirrors import is_mirror
from barnabas.spark.pipelines.connectors.settings import (
    ConfigErrors,
    argument_named,
    made,
    named_in,
)
from barnabas.spark.pipelines.connectors.shared_settings import (
    COMMON,
    OF_BOTH,
    OF_SINKS,
    OF_SOURCES,
    ONCE,
    check_common,
)
from barnabas.spark.pipelines.connectors.topic_ends import (
    READ_TOPICS,
    WRITE_TOPICS,
    limit_argument,
    once_settings,
    reading_topics,
    route_rows,
    router_of,
    topics_of_tables,
    writing_topics,
)
from barnabas.spark.pipelines.connectors.unused_settings import (
    Ends,
    check_effects,
    check_topic_creation,
)
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.definition.problems import problems_of
from barnabas.spark.pipelines.sinks.sink import Sink
from barnabas.spark.pipelines.sinks.topic import TopicSink
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.pipelines.transforms.connect_transforms import connect_transforms

VIEW = "source"
"""The name of the source, also in `transform.sql`."""

_OVERRIDES = ("consumer.override.", "producer.override.")  # `unused_settings` checks them
_OF_TRANSFORMS = ("transforms.", "predicates.")


@dataclass(frozen=True)
class ConnectorDefinition:
    """What settings say, as far as it was understood."""

    config: Mapping[str, str]
    direction: Direction
    pipeline: Pipeline | None
    """None if there are errors."""
    topics: tuple[str, ...] = ()
    """Topics that it writes, as far as they are known before it runs."""
    errors: ConfigErrors = field(default_factory=ConfigErrors)


def direction_of(config: Mapping[str, str]) -> Direction:
    """Whether it is a source or a sink; raises `InvalidArgument` if that is unknown."""
    name = config.get("connector.class", "")
    if name == PIPELINE:
        return "sink"
    if is_mirror(config):
        return "source"
    java = JAVA_NAMES.get(name)
    return kind_named(name if java is None else java.kind).direction


def connector_of(config: Mapping[str, str], folder: Path) -> ConnectorDefinition:
    """The connector that has a source or a sink; paths are relative to `folder`."""
    errors = ConfigErrors()
    check_common(config, errors)
    given, kind = _translated(config, errors)
    if kind is None:
        return ConnectorDefinition(config, "source", None, errors=errors)
    own, other = _divided(given, kind, errors)
    is_source = kind.direction == "source"
    other_class = given.get("sink.class" if is_source else "source.class")
    try:
        fallback = WRITE_TOPICS if is_source else READ_TOPICS
        other_kind = kind_named(other_class or fallback, "sink" if is_source else "source")
    except InvalidArgument as error:
        errors.add("sink.class" if is_source else "source.class", str(error))
        return ConnectorDefinition(config, kind.direction, None, errors=errors)
    ends = Ends(kind, other_kind)
    check_effects(given, ends, own, other, errors)
    as_text: tuple[str, ...] = ()
    if ends.reads_topics:
        other = reading_topics(given, other, errors)
        as_text = read_as_text(given, other)
    elif ends.writes_topics:
        other = writing_topics(given, other, _by_argument(kind, own), errors)
    if kind.name == WRITE_TOPICS:
        own |= once_settings(given, own, errors)
        route_rows(given, own)
    if is_source:
        _limit_rows(given, kind, own, "", errors)
    else:
        _limit_rows(given, other_kind, other, "source.", errors)
    prefix = "sink." if is_source else "source."
    end = made(kind.make, own, errors)
    other_end = made(other_kind.make, other, errors, prefix)
    if errors or end is None or other_end is None:
        return ConnectorDefinition(config, kind.direction, None, errors=errors)
    source, sink = (end, other_end) if is_source else (other_end, end)
    transform = partial(_transformed, query=given.get("transform.sql"), as_text=as_text)
    ready = (cast("Source", source), cast("Sink", sink))
    defined = _pipeline(given, ready, transform, folder, errors)
    topics = topics_of_tables(_by_argument(kind, own)) if is_source else None
    if defined is not None:
        topics = topics or list(defined.sink.required_topics)
        check_topic_creation(given, defined, topics, errors)
    return ConnectorDefinition(config, kind.direction, defined, tuple(topics or ()), errors)


def _translated(
    config: Mapping[str, str], errors: ConfigErrors
) -> tuple[Mapping[str, str], ConnectorKind | None]:
    """The settings under the names of a kind."""
    name = config.get("connector.class")
    if not name:
        errors.add(
            "connector.class",
            "Missing required setting 'connector.class', which has no default value",
        )
        return config, None
    java = JAVA_NAMES.get(name)
    try:
        kind = kind_named(name if java is None else java.kind)
    except InvalidArgument as error:
        errors.add("connector.class", str(error))
        return config, None
    if java is None:
        return config, kind
    try:
        return java.translate(config), kind
    except InvalidArgument as error:
        errors.add(named_in(str(error)), str(error))
        return config, None


def _divided(
    given: Mapping[str, str], kind: ConnectorKind, errors: ConfigErrors
) -> tuple[dict[str, str], dict[str, str]]:
    """Settings of the kind, and those of the other end."""
    is_source = kind.direction == "source"
    shared = [*COMMON, *OF_BOTH, *(OF_SOURCES if is_source else OF_SINKS), ONCE]
    common = {each.name for each in shared} | {"sink.class" if is_source else "source.class"}
    prefix = "sink." if is_source else "source."
    own: dict[str, str] = {}
    other: dict[str, str] = {}
    for name, value in given.items():
        if argument_named(kind.make, name) is None:
            if name in common or name in errors.found:
                continue
            if name.startswith((*_OVERRIDES, *_OF_TRANSFORMS)):
                continue
            if name.startswith("spark."):
                check_spark(name, given, errors)
                continue
            if name.startswith(prefix):
                other[name.removeprefix(prefix)] = value
                continue
        own[name] = value
    return own, other


def _by_argument(kind: ConnectorKind, own: Mapping[str, str]) -> dict[str, str]:
    return {argument_named(kind.make, name) or name: value for name, value in own.items()}


def _limit_rows(
    given: Mapping[str, str],
    reads: ConnectorKind,
    settings: dict[str, str],
    prefix: str,
    errors: ConfigErrors,
) -> None:
    limit = given.get("max.rows.per.batch")
    if limit is None:
        return
    argument = limit_argument(reads.make)
    if argument is None:
        errors.add("max.rows.per.batch", f"{reads.name} has no limit of rows for a batch")
        return
    known = {name.lower().replace(".", "_"): name for name in settings}
    spelled = known.get(argument.lower())
    if spelled is None:
        settings[argument] = limit
    elif spelled != "max.rows.per.batch":
        errors.add(
            "max.rows.per.batch",
            f"max.rows.per.batch and {prefix}{spelled} are the same; set one of them",
        )


def _pipeline(
    config: Mapping[str, str],
    ends: tuple[Source, Sink],
    transform: Callable[..., DataFrame],
    folder: Path,
    errors: ConfigErrors,
) -> Pipeline | None:
    source, sink = ends
    try:
        transforms = _transforms(config, sink)
    except InvalidArgument as error:
        errors.add(named_in(str(error), "transforms"), str(error))
        return None
    try:
        defined = Pipeline(
            config.get("name", "connector"),
            partial(transform, transforms=transforms),
            {VIEW: source},
            sink,
            config.get("trigger"),
            conf=spark_conf(config),
            takes_session=True,
            defined_in=None,
        ).resolved(folder)
    except InvalidArgument as error:
        errors.add("name", str(error))
        return None
    for problem in problems_of(defined):
        errors.add("source.schema" if "schema" in str(problem) else "connector.class", str(problem))
    return defined


def _transforms(config: Mapping[str, str], sink: Sink) -> Callable[[DataFrame], DataFrame] | None:
    """What `transforms` say; raises `InvalidArgument`."""
    if not config.get("transforms", "").strip():
        for name in config:
            if name.startswith(_OF_TRANSFORMS) or name == "predicates":
                raise InvalidArgument(f"{name}: name the transform in transforms, or remove this")
        return None
    router = router_of(config)
    if router is not None and not (isinstance(sink, TopicSink) and sink.topic_per_row):
        raise InvalidArgument(
            f"{router}: a router chooses the topic of each record; it needs a connector that "
            "writes topics"
        )
    topics = config.get("topics") or config.get("topic") or ""
    is_one = "," not in topics and "topics.regex" not in config
    return connect_transforms(config, topic=topics if is_one else None)


def _transformed(
    spark: SparkSession,
    source: DataFrame,
    *,
    query: str | None,
    as_text: tuple[str, ...],
    transforms: Callable[[DataFrame], DataFrame] | None,
) -> DataFrame:
    if as_text:
        texts = {name: F.col(name).cast("string") for name in as_text}
        source = source.withColumns(texts)
    rows = source if query is None else _queried(spark, source, query)
    return rows if transforms is None else transforms(rows)


def _queried(spark: SparkSession, source: DataFrame, query: str) -> DataFrame:
    source.createOrReplaceTempView(VIEW)
    try:
        return spark.sql(query)
    finally:
        spark.catalog.dropTempView(VIEW)
