"""`pipeline run --watch`: restarts pipelines when their definitions are edited.

Only changed pipelines are restarted. If a new definition is invalid, the running pipeline goes on.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from barnabas.cli.base.output import say
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import Pipeline, PipelineError, PipelineRun
from barnabas.spark.pipelines.definition.definition_watch import DefinitionWatch
from barnabas.spark.pipelines.definition.definitions import BadDefinition, Definitions
from barnabas.spark.pipelines.run.session_conf import session_conf


class DefinitionFollower:
    """Applies changes of definition files to a run."""

    def __init__(
        self,
        path: Path,
        run: PipelineRun,
        start_spark: Callable[[], object],
        *,
        names: Iterable[str] = (),
        as_run: Callable[[list[Pipeline]], list[Pipeline]] = list,
    ) -> None:
        """`as_run` converts definitions to what is run, for example to another version."""
        self._watch = DefinitionWatch(path)
        self._run = run
        self._start_spark = start_spark
        self._names = set(names)
        self._as_run = as_run
        self._conf = session_conf(each.pipeline for each in run.queries)
        self._running = {each.name: self._watch.fingerprint(each.pipeline) for each in run.queries}
        self.bad: list[BadDefinition] = []
        """Invalid definitions, as of the last read."""
        self.has_reloaded = False

    def poll(self) -> bool:
        """Check the files; True if any has changed."""
        if not self._watch.has_changed():
            return False
        found = self._watch.load(self._start_spark)
        self.has_reloaded = True
        self.bad = [each for each in found.bad if not self._names or each.name in self._names]
        for wrong in self.bad:
            say(f"error: {wrong.name}: {wrong.reason}{self._what_runs(wrong.name)}")
        try:
            wanted = self._wanted(found)
        except (InvalidArgument, PipelineError) as error:
            say(f"error: {error}; the previous definitions keep running")
            return True
        kept = {each.file.resolve() for each in self.bad}
        for query in list(self._run.queries):
            file = query.pipeline.defined_in
            if query.name not in wanted and not (file is not None and file.resolve() in kept):
                self._run.remove(query.name)
                self._running.pop(query.name, None)
                say(f"stopped {query.name}: its definition is gone")
        for each in wanted.values():
            now = self._watch.fingerprint(each)
            if self._running.get(each.name) != now:
                self._start(each, now)
        return True

    def restart(self, name: str) -> str | None:
        """Restart a pipeline by its definition as it is now; returns why that is not possible."""
        try:
            found = self._watch.load(self._start_spark)
            wanted = self._wanted(found)
            if name in wanted:
                return self._start(wanted[name], self._watch.fingerprint(wanted[name]))
        except (InvalidArgument, PipelineError, OSError) as error:
            return f"{error}{self._what_runs(name)}"
        files = [each.pipeline.defined_in for each in self._run.queries if each.name == name]
        reasons = [each.reason for each in found.bad if each.name == name or each.file in files]
        return f"{reasons[0] if reasons else 'its definition is gone'}{self._what_runs(name)}"

    def _wanted(self, found: Definitions) -> dict[str, Pipeline]:
        """What is run of these definitions. Raises `InvalidArgument`."""
        defined = [
            each for each in found.pipelines.values() if not self._names or each.name in self._names
        ]
        return {each.name: each for each in self._as_run(defined)}

    def _start(self, defined: Pipeline, fingerprint: str) -> str | None:
        """Start or restart a pipeline, if Spark accepts its definition; returns why it does not."""
        is_new = defined.name not in self._running
        try:
            self._check(defined)
            self._run.replace(defined)
        except (InvalidArgument, PipelineError) as error:
            assert defined.defined_in is not None
            bad = BadDefinition(defined.name, defined.defined_in, error)
            self.bad = [*(each for each in self.bad if each.name != bad.name), bad]
            what_runs = self._what_runs(bad.name)
            say(f"error: {bad.name}: {bad.reason}{what_runs}")
            return f"{bad.reason}{what_runs}"
        self._running[defined.name] = fingerprint
        say(f"{'started' if is_new else 'restarted'} {defined.name} with its new definition")
        return None

    def _check(self, defined: Pipeline) -> None:
        needed = session_conf([defined])
        if any(self._conf.get(name) != value for name, value in needed.items()):
            raise PipelineError(
                f"pipeline {defined.name} needs Spark settings that can't change while Spark runs "
                f"({', '.join(needed)}): restart the command"
            )
        self._run.check_definition(defined)

    def _what_runs(self, name: str) -> str:
        runs = any(each.name == name and not each.is_over for each in self._run.queries)
        return "; the previous definition keeps running" if runs else ""
