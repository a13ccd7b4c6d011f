"""What sources and sinks have in common: the two ends of a pipeline.

Whatever differs between ends is a method of the end; commands call it, and never check the class.
Only `describe` has to be written; the defaults fit an end without topics, files or Spark packages.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_OTHER_CLUSTER = {"kafka.bootstrap.servers", "subscribepattern", "assign"}


class PipelineEnd(ABC):
    """A source or a sink, as a definition describes it. Nothing is connected before it is used."""

    @abstractmethod
    def describe(self) -> str:
        """What it is, in a few words: `barnabas pipeline list` and error messages show it."""

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it reads or writes."""
        return ()

    @property
    def required_topics(self) -> tuple[str, ...]:
        """Those topics that have to exist in the pipeline's cluster before it starts."""
        return self.topics

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """What it reads or writes, by kind and name: `barnabas pipeline graph` draws it.

        Two pipelines that name the same place depend on each other.
        """
        return tuple(("topic", each) for each in self.topics) or (("other", self.describe()),)

    @property
    def session_conf(self) -> Mapping[str, str]:
        """Spark settings that it needs and that can't change once Spark has started.

        An end that needs a JAR names it here: `{"spark.jars.packages": "group:artifact:version"}`.
        """
        return {}

    def resolved(self, folder: Path) -> Self:
        """The same end, with relative paths resolved against the folder of its definition."""
        del folder
        return self


def resolved_path(path: str, folder: Path) -> str:
    """A path resolved against a folder, unless it is absolute or a URL."""
    return path if _URL.match(path) else str(folder / path)


def names_other_topics(options: Iterable[str]) -> bool:
    """Whether options name another cluster, or topics by a pattern or assignment."""
    return any(each.lower() in _OTHER_CLUSTER for each in options)
