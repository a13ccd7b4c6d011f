"""What a pipeline is: inputs by name, a function of them, and where its rows go.

The function is pure: DataFrames in, a DataFrame out. Nothing runs when it is defined, and the same
definition runs on brokers (`PipelineRun`) and on rows of a test (`barnabas.spark.testing`).
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from barnabas.client.producer.producer_options import compression_of
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.environment import DeadLetterSettings, Environment
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError
from barnabas.spark.pipelines.errors.source_errors import source_named
from barnabas.spark.pipelines.errors.user_code import user_code
from barnabas.spark.pipelines.expectations.checked_rows import checked
from barnabas.spark.pipelines.expectations.expectation import (
    Expectation,
    checked_rules,
    sends_dead_letters,
)
from barnabas.spark.pipelines.interval import is_period
from barnabas.spark.pipelines.sinks.sink import OUTPUT_MODES, OutputMode, Sink
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.pipelines.traces.carried_column import with_carried_traces
from barnabas.spark.pipelines.used_columns import used_columns
from barnabas.spark.sessions.early_udf import allow_early_udfs
from barnabas.spark.source.source_use import SourceUse

__all__ = ["Pipeline", "PipelineError", "check_name", "check_output_mode", "pipeline"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SESSION = "spark"

DEAD_LETTERS = "dead-letters"
"""Suffix of the consumer group that records which dead letters of a pipeline are written."""

allow_early_udfs()  # a file of pipelines may define UDFs at its top


def check_name(name: str) -> None:
    """Raise `InvalidArgument` unless it can be the name of a pipeline, and of its files."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"pipeline {name!r}: use letters, digits, . _ and - only")


@dataclass(frozen=True)
class Pipeline:
    """A pipeline definition. Calling it calls the decorated function."""

    name: str
    transform: Callable[..., DataFrame]
    sources: Mapping[str, Source]
    sink: Sink
    trigger: str | None = None
    output_mode: OutputMode = "append"
    conf: Mapping[str, str] = field(default_factory=dict)
    takes_session: bool = False
    defined_in: Path | None = None
    expect: tuple[Expectation, ...] = ()
    """Rules for the rows of the result; sources have separate rules."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.trigger is not None and not is_period(self.trigger):
            raise InvalidArgument(
                f'pipeline {self.name}: trigger must be an interval such as "10 seconds", not '
                f'"{self.trigger}"; to process what there is and exit, use '
                "`barnabas pipeline run --once`"
            )
        if self.output_mode not in self.sink.modes:
            known = " or ".join(f'"{each}"' for each in self.sink.modes)
            raise InvalidArgument(
                f"pipeline {self.name}: {self.sink.describe()} takes output_mode {known}, not "
                f'"{self.output_mode}"'
            )

        if sends_dead_letters(self.expect):
            raise InvalidArgument(
                f'pipeline {self.name}: on_failure="dead_letter" is for rules of a source, whose '
                "records can be sent: give the rule to from_topic(..., expect=[...]), or drop the "
                "rows of the result"
            )

    @property
    def expectations(self) -> list[tuple[str | None, Expectation]]:
        """All rules, each with its source; None for those of the result."""
        of_sources = [
            (name, rule) for name, each in self.sources.items() for rule in each.expectations
        ]
        return [*of_sources, *((None, rule) for rule in self.expect)]

    @property
    def written_topics(self) -> list[str]:
        """The topics of the pipelines' cluster that it writes, those of dead letters included."""
        letters = [
            each.dead_letter_topic for each in self.sources.values() if not each.is_of_other_cluster
        ]
        return [*self.sink.required_topics, *(each for each in letters if each is not None)]

    def __call__(self, *inputs: Any, **named: Any) -> DataFrame:
        return self.transform(*inputs, **named)

    def resolved(self, folder: Path) -> "Pipeline":
        """The same, with relative paths resolved against a folder."""
        sources = {name: each.resolved(folder) for name, each in self.sources.items()}
        return replace(self, sources=sources, sink=self.sink.resolved(folder))

    def environment_of(self, source: str, environment: Environment) -> Environment:
        """The environment that a source is loaded in."""
        prefix = f"{self.name}.{source}" if len(self.sources) > 1 else self.name
        given = self.sink.producer_options.get("kafka.compression.type", "none")
        settings = DeadLetterSettings(
            f"{prefix}.{DEAD_LETTERS}",
            compression_of(given),  # type: ignore[arg-type]  # it says what is wrong itself
        )
        return replace(environment, source=source, dead_letters=settings)

    def rows(self, environment: Environment) -> DataFrame:
        """The result, with every source loaded in an environment."""
        inputs: dict[str, Any] = {}
        for name, source in self.sources.items():
            with source_named(name, self.name):
                inputs[name] = source.load(self.environment_of(name, environment))
        if self.takes_session:
            inputs[_SESSION] = environment.spark
        with user_code(self.defined_in):
            rows = self.transform(**inputs)
        if not isinstance(rows, DataFrame):
            raise InvalidArgument(f"pipeline {self.name} returns {type(rows)}, not a DataFrame")
        if not rows.isStreaming:
            raise InvalidArgument(
                f"pipeline {self.name} has no streaming source: its rows would never change"
            )
        if self.sink.writes_traces:
            traced = [each for name, each in inputs.items() if self._has_traces(name)]
            rows = with_carried_traces(rows, traced)
        try:
            return checked(rows, self.expect, None, rows.columns)
        except InvalidArgument as error:
            raise InvalidArgument(f"pipeline {self.name}: {error}") from error

    def _has_traces(self, source: str) -> bool:
        return source in self.sources and self.sources[source].has_traces

    def lean_rows(self, environment: Environment) -> DataFrame:
        """The result, with sources that make only the columns and rows that are used."""
        rows = self.rows(environment)
        used = used_columns(rows)
        if all(use == SourceUse(None) for use in used.values()):
            return rows
        lean = self.rows(replace(environment, used=used))
        # A function that is not deterministic may use other columns now.
        has_all = all(source.covers(*use) for source, use in used_columns(lean).items())
        return lean if has_all else rows


def pipeline(
    *,
    sink: Sink,
    sources: Mapping[str, Source] | None = None,
    name: str | None = None,
    trigger: str | None = None,
    output_mode: OutputMode = "append",
    conf: Mapping[str, str | int | bool] | None = None,
    expect: Sequence[Expectation] = (),
) -> Callable[[Callable[..., DataFrame]], Pipeline]:
    """Make a pipeline from a function whose parameters are the sources, by name.

    A parameter `spark` receives the session, to read anything else. `trigger` is how often a
    micro-batch starts, as in `"10 seconds"`; by default, as soon as there are new rows.
    `conf` are Spark settings for this pipeline only. `expect` are rules for the rows of the result
    (`expect`).
    """
    given = dict(sources or {})

    def decorate(function: Callable[..., DataFrame]) -> Pipeline:
        parameters = set(inspect.signature(function).parameters)
        wanted = parameters - {_SESSION}
        called = name or function.__name__
        if wanted != given.keys():
            raise InvalidArgument(
                f"pipeline {called}: the function's parameters {sorted(wanted)} must match its "
                f"sources {sorted(given)}"
            )
        code = inspect.unwrap(function).__code__
        return Pipeline(
            called,
            function,
            given,
            sink,
            trigger,
            output_mode,
            {each: _text(value) for each, value in (conf or {}).items()},
            takes_session=_SESSION in parameters,
            defined_in=Path(code.co_filename),
            expect=checked_rules(expect),
        )

    return decorate


def check_output_mode(text: str) -> OutputMode:
    """Parse an output mode."""
    for mode in OUTPUT_MODES:
        if text == mode:
            return mode
    raise InvalidArgument(f"unknown output mode {text!r}; use {', '.join(OUTPUT_MODES)}")


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
