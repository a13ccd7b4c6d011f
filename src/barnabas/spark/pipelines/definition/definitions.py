"""The pipelines of a path, and the invalid definitions, which do not stop the valid ones."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.definition.loader import (
    definition_files,
    load,
    send_modules_by_value,
)
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.definition.problems import is_about, problems_of
from barnabas.spark.pipelines.errors.error_list import raise_all
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError


@dataclass(frozen=True)
class BadDefinition:
    """A definition that can't be run."""

    name: str
    """The pipeline, or the name of the file if it can't be read."""
    file: Path
    error: BarnabasError

    @property
    def reason(self) -> str:
        return str(self.error).removeprefix(f"pipeline {self.name}: ")


@dataclass(frozen=True)
class Definitions:
    """What a path defines."""

    pipelines: dict[str, Pipeline] = field(default_factory=dict)
    bad: list[BadDefinition] = field(default_factory=list)

    def check(self) -> None:
        """Raise if a definition is invalid."""
        raise_all([each.error for each in self.bad])


def load_each(path: Path, start_spark: Callable[[], object]) -> Definitions:
    """Load each file of a path separately. Raises `InvalidArgument` if there are none."""
    found = Definitions()
    for file in definition_files(path):
        try:
            loaded = load(file, start_spark)
        except (InvalidArgument, PipelineError) as error:
            if is_about(file, error):
                found.bad.append(BadDefinition(file.stem, file, error))
            continue
        for each in loaded.values():
            _add(found, each, file)
    if not found.pipelines and not found.bad:
        load(path, start_spark)  # raises: there are none
    send_modules_by_value(path)
    return found


def _add(found: Definitions, defined: Pipeline, file: Path) -> None:
    errors = list(problems_of(defined))
    if defined.name in found.pipelines:
        other = found.pipelines[defined.name].defined_in
        errors = [InvalidArgument(f"pipeline {defined.name} is in {other} and in {file}")]
    found.bad.extend(BadDefinition(defined.name, file, each) for each in errors)
    if not errors:
        found.pipelines[defined.name] = defined
