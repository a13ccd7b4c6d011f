"""The base class of sources: the inputs of pipelines."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from pyspark.sql import DataFrame

from barnabas.errors import InvalidArgument
from barnabas.spark.dead_letters.letter_target import LetterTarget
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError
from barnabas.spark.pipelines.expectations.expectation import Expectation
from barnabas.spark.pipelines.pipeline_end import PipelineEnd
from barnabas.spark.pipelines.sources.feed import Fed, Feed


class Source(PipelineEnd):
    """An input of a pipeline. Subclasses define `describe` and `load`, the rest as needed.

    A source is a frozen dataclass, created by a function `from_...` that checks its arguments. SQL
    calls that function under its name in `sql_file.SOURCES`.
    """

    is_stream: ClassVar[bool] = True
    """Whether new rows keep coming; a pipeline needs at least one such source."""
    waits_for_rows: ClassVar[bool] = False
    """Whether it waits a moment for news when Spark asks, so that Spark need not pause itself."""

    @abstractmethod
    def load(self, environment: Environment) -> DataFrame:
        """Its rows, as a stream or as a table."""

    def close(self, pipeline: str) -> None:
        """Release what `load` holds in this process: the pipeline of that name has been stopped."""
        del pipeline

    def problems(self) -> Iterator[SourceError]:
        """Errors that can be found without Spark, which takes seconds to start."""
        yield from ()

    @property
    def has_traces(self) -> bool:
        """Whether its rows have the trace headers of their records (`traces.trace_column`)."""
        return False

    @property
    def expectations(self) -> Sequence[Expectation]:
        """Rules for its rows, which `load` applies."""
        return ()

    def expecting(self, rules: Sequence[Expectation]) -> Self:
        """The same source with these rules, as a SQL file gives them."""
        del rules
        raise InvalidArgument(f"{self.describe()} takes no expectations")

    def starting_at(self, offsets: Mapping[str, Mapping[str, int]]) -> Self:
        """The same source from these offsets on, by topic and partition, without a checkpoint."""
        del offsets
        raise InvalidArgument(f"{self.describe()} can't be given a position")

    def reads(self, topic: str) -> bool:
        """Whether it reads this topic."""
        return topic in self.topics

    @property
    def is_of_other_cluster(self) -> bool:
        """Whether its topics, and that of its dead letters, are not in the pipelines' cluster."""
        return False

    @property
    def dead_letter_topic(self) -> str | None:
        """The topic for records that do not become rows, if it has one."""
        return None

    def letter_targets(self, environment: Environment) -> Sequence[LetterTarget]:
        """Where tasks write dead letters."""
        del environment
        return ()

    def as_version(self, version: str, topics: Mapping[str, str]) -> Self:
        """The source of another version of the pipeline.

        `topics` maps topics that pipelines of the same run write to their names in the version.
        """
        del version, topics
        return self

    # -- tests ------------------------------------------------------------------------------------

    @property
    def can_be_fed(self) -> bool:
        """Whether it defines `in_test`."""
        return type(self).in_test is not Source.in_test

    def in_test(self, folder: Path) -> "Source":
        """The source that a test reads instead, for `feed`; `folder` is for its files."""
        del folder
        raise InvalidArgument(f"{self.describe()} can't be fed in a test")

    def feed(self, feed: Feed, rows: Sequence[Fed], key: str | None) -> None:
        """Add rows in a test; `key` names the column that is the records' key too."""
        del feed, rows, key
        raise InvalidArgument(f"{self.describe()} can't be fed in a test")
