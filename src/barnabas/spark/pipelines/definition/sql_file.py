"""Pipelines in SQL: a query, and before it comments that say what it reads and where it writes.

    -- source views: topic page-views schema="page STRING NOT NULL, at TIMESTAMP"
    --     watermark="at 10 minutes" dead_letters=bad-views
    -- sink: topic views-per-minute key=page
    -- expect views.page: page LIKE '/%' on_failure=drop
    -- trigger: 5 seconds
    SELECT page, window.start AS minute, count(*) AS views
    FROM views GROUP BY page, window(at, '1 minute')

An indented line continues the one before. Other comments are ignored, but one that looks like a
misspelled directive is refused. The pipeline has the name of the file, unless `-- pipeline: name`
gives it another. Sources and sinks are those of Python, with the same arguments.
"""

import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.argument_values import argument_values
from barnabas.spark.pipelines.definition.pipeline import Pipeline, check_output_mode
from barnabas.spark.pipelines.expectations.expectation import (
    Expectation,
    checked_rules,
    expect,
)
from barnabas.spark.pipelines.sinks.connector import to_connector
from barnabas.spark.pipelines.sinks.console import to_console
from barnabas.spark.pipelines.sinks.database import to_duckdb, to_mysql, to_sqlite
from barnabas.spark.pipelines.sinks.files import to_files
from barnabas.spark.pipelines.sinks.http import to_http
from barnabas.spark.pipelines.sinks.memory import to_memory
from barnabas.spark.pipelines.sinks.opensearch import to_opensearch
from barnabas.spark.pipelines.sinks.parquet import to_parquet
from barnabas.spark.pipelines.sinks.postgres import to_postgres
from barnabas.spark.pipelines.sinks.redis import to_redis
from barnabas.spark.pipelines.sinks.sink import Sink
from barnabas.spark.pipelines.sinks.topic import to_topic
from barnabas.spark.pipelines.sources.connector import from_connector
from barnabas.spark.pipelines.sources.files import from_files
from barnabas.spark.pipelines.sources.generator import from_generator
from barnabas.spark.pipelines.sources.http import from_http
from barnabas.spark.pipelines.sources.log_files import from_log_files
from barnabas.spark.pipelines.sources.mysql_changes import from_mysql_changes
from barnabas.spark.pipelines.sources.postgres_changes import from_postgres_changes
from barnabas.spark.pipelines.sources.query import from_query
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.pipelines.sources.table import from_table
from barnabas.spark.pipelines.sources.topic import from_topic

T = TypeVar("T")

_FIELD = re.compile(
    r"--\s?(pipeline|source\s+\w+|sink|trigger|output_mode|conf|expect(?:\s+[\w.-]+)?)\s*:\s*(.*)$"
)
_LIKE_A_FIELD = re.compile(r"--\s*([\w-]+)(?:\s+([\w-]+))?\s*:(?!:)")
_FIELDS = {
    "pipeline": "pipeline: NAME",
    "source": "source NAME: ...",
    "sink": "sink: ...",
    "trigger": "trigger: ...",
    "output_mode": "output_mode: ...",
    "conf": "conf: NAME=VALUE",
    "expect": "expect NAME: CONDITION on_failure=drop",
}
_LIKENESS = 0.75
_MODE = re.compile(r"\s+on_failure=(\S*)\s*$")
_MORE = re.compile(r"--\s{2,}(\S.*)$")
_NAMED = re.compile(r"[\w.]+=")  # not an address, which may have = in its middle

SOURCES: dict[str, Callable[..., Source]] = {
    "topic": from_topic,
    "table": from_table,
    "files": from_files,
    "postgres_changes": from_postgres_changes,
    "mysql_changes": from_mysql_changes,
    "generator": from_generator,
    "query": from_query,
    "log_files": from_log_files,
    "http": from_http,
    "connector": from_connector,
}
SINKS: dict[str, Callable[..., Sink]] = {
    "topic": to_topic,
    "parquet": to_parquet,
    "postgres": to_postgres,
    "sqlite": to_sqlite,
    "duckdb": to_duckdb,
    "mysql": to_mysql,
    "files": to_files,
    "http": to_http,
    "redis": to_redis,
    "opensearch": to_opensearch,
    "connector": to_connector,
    "console": to_console,
    "memory": to_memory,
}


def read_sql(path: Path) -> Pipeline:
    """The pipeline that a file defines."""
    text = path.read_text("utf-8")
    try:
        return _pipeline(path, _header(text), text)
    except InvalidArgument as error:
        raise InvalidArgument(f"{path}: {error}") from None


def _pipeline(path: Path, header: list[tuple[str, str]], text: str) -> Pipeline:
    given: dict[str, str] = {}
    sources: dict[str, Source] = {}
    conf: dict[str, str] = {}
    rules: list[tuple[str | None, Expectation]] = []
    for name, value in header:
        if name.startswith("source"):
            view = name.split()[1]
            if view in sources:
                raise InvalidArgument(f"source {view} is defined twice")
            sources[view] = _made(f"source {view}", SOURCES, value)
        elif name.startswith("expect"):
            rules.append(_rule(name, value))
        elif name == "conf":
            conf |= dict(_pair(each) for each in _words(value))
        elif name in given:
            raise InvalidArgument(f"{name} is given twice")
        else:
            given[name] = value.strip()
    if "sink" not in given:
        raise InvalidArgument('no sink: add a comment such as "-- sink: topic NAME"')
    query = text.strip().rstrip(";")

    def transform(spark: SparkSession, **inputs: DataFrame) -> DataFrame:
        try:
            for view, rows in inputs.items():
                rows.createOrReplaceTempView(view)
            return spark.sql(query)
        finally:
            for view in inputs:
                spark.catalog.dropTempView(view)

    return Pipeline(
        given.get("pipeline", path.stem),
        transform,
        _with_rules(sources, rules),
        _made("sink", SINKS, given["sink"]),
        given.get("trigger"),
        check_output_mode(given.get("output_mode", "append")),
        conf,
        takes_session=True,
        defined_in=path,
        expect=checked_rules(rule for source, rule in rules if source is None),
    )


def _rule(name: str, text: str) -> tuple[str | None, Expectation]:
    """A rule, and the source it is for: `expect [SOURCE.]NAME: CONDITION [on_failure=MODE]`."""
    given = _MODE.search(text)
    condition = text if given is None else text[: given.start()]
    mode: dict[str, Any] = {} if given is None else {"on_failure": given[1]}
    _, _, named = name.partition(" ")
    source, dot, rule = named.strip().rpartition(".")
    return source if dot else None, expect(condition, rule or None, **mode)


def _with_rules(
    sources: Mapping[str, Source], rules: Iterable[tuple[str | None, Expectation]]
) -> dict[str, Source]:
    """The sources, each with its rules."""
    found = dict(sources)
    for name, rule in rules:
        if name is None:
            continue
        source = found.get(name)
        if source is None:
            raise InvalidArgument(
                f"expect {name}.{rule.name}: no source {name!r}; use {_listed(sources)}"
            )
        try:
            found[name] = source.expecting((*source.expectations, rule))
        except InvalidArgument as error:
            raise InvalidArgument(f"source {name}: {error}") from None
    return found


def _header(text: str) -> list[tuple[str, str]]:
    """Names and values in the comments, which may have several lines each."""
    found: list[tuple[str, str]] = []
    going_on, before_query = False, True
    for line in text.splitlines():
        begins, more = _FIELD.match(line), _MORE.match(line)
        before_query = before_query and (not line.strip() or line.startswith("--"))
        if begins is not None:
            found.append((begins[1], begins[2]))
        elif more is not None and going_on:
            name, value = found[-1]
            found[-1] = (name, f"{value} {more[1]}")
        elif before_query:
            _check_comment(line)
        going_on = begins is not None or (going_on and more is not None)
    return found


def _check_comment(line: str) -> None:
    """Refuse a misspelled directive, which would have no effect."""
    found = _LIKE_A_FIELD.match(line)
    if found is None:
        return
    words = [each.lower() for each in found.groups() if each is not None]
    known = list(_FIELDS) if len(words) == 1 else ["source", "expect"]
    like = get_close_matches(words[0], known, 1, _LIKENESS)
    like = like or get_close_matches("_".join(words), _FIELDS, 1, _LIKENESS)
    if like:
        raise InvalidArgument(
            f'{line.strip()!r}: did you mean "-- {_FIELDS[like[0]]}"? If it is only a comment, '
            "start it with another word"
        )


def _made(what: str, kinds: Mapping[str, Callable[..., T]], text: str) -> T:
    """Build a source or sink from words such as `topic NAME key=page`."""
    kind, *words = _words(text) or [""]
    make = kinds.get(kind)
    if make is None:
        noun = what.split(maxsplit=1)[0]
        whose = "" if what == noun else f"{what}: "
        raise InvalidArgument(f"{whose}unknown {noun} {kind!r}; use {_listed(kinds)}")
    at = 0
    while at < len(words) and not _NAMED.match(words[at]):
        at += 1
    try:
        arguments = argument_values(make, dict(_pair(each) for each in words[at:]))
        inspect.signature(make).bind(*words[:at], **arguments)
    except TypeError as error:
        raise InvalidArgument(f"{what}: {error}") from None
    try:
        return make(*words[:at], **arguments)
    except InvalidArgument as error:
        raise InvalidArgument(f"{what}: {error}") from None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidArgument(f"{text!r}: {error}") from None


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise InvalidArgument(f"{text!r}: write name=value")
    return name, value


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
