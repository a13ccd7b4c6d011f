"""Does what users of the console ask of the pipelines of a run: stop, restart."""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from barnabas.cli.base.output import say
from barnabas.cli.pipeline.watch import DefinitionFollower
from barnabas.flow.reports import key_of
from barnabas.flow.requests import CONTROLLED, PipelineRequest
from barnabas.spark.pipelines import PipelineRun
from barnabas.spark.pipelines.run.control_requests import ControlRequests
from barnabas.spark.pipelines.run.run_folder import RunFolder

_RESTARTED = "It was restarted with its definition as it is now."
_RESTARTED_IN_VAIN = (
    "It was restarted with its definition as it is now, which has failed since and has finished no "
    "batch. Correct the definition and restart it; it continues from its checkpoint."
)

Follow: TypeAlias = Callable[[], DefinitionFollower]


class PipelineControl:
    """The requests of one run, and what became of them, which reports tell."""

    def __init__(self, requests: ControlRequests, folder: RunFolder) -> None:
        self._requests = requests
        self._place = {"host": socket.gethostname(), "folder": str(folder.folder)}
        self._answers: dict[str, dict[str, str]] = {}

    def poll(self, run: PipelineRun, follow: Follow | None) -> None:
        """Obey what has come. A pipeline of another process, or of another name, is not ours.

        `follow` gives what reads definitions again, where there are any.
        """
        for request in self._requests.take():
            if request.pid != os.getpid():
                continue
            for query in run.queries:
                if key_of({**self._place, "pipeline": query.name}) == request.pipeline:
                    self._obey(request, query.name, run, follow)
                    break

    def marked(self, statuses: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Statuses with whether requests are taken, and the answer to the last one."""
        control = CONTROLLED if self._requests.is_listening else None
        return [{**each, "control": control, **self._answer_of(each)} for each in statuses]

    def close(self) -> None:
        self._requests.close()

    def _obey(
        self,
        request: PipelineRequest,
        name: str,
        run: PipelineRun,
        follow: Follow | None,
    ) -> None:
        say(f"{request.action} of {name}: asked for by a user of the cluster")
        if request.action == "stop":
            self._answer(request, name, "It was stopped, as asked for.")
            run.end(name)
            return
        self._answer(request, name, "It is being restarted.")
        problem = _restart(name, follow)
        self._answer(
            request,
            name,
            _RESTARTED if problem is None else f"It was not restarted: {problem}",
        )

    def _answer_of(self, status: Mapping[str, Any]) -> dict[str, str]:
        """The answer to the last request, which a definition that fails changes."""
        found = self._answers.get(status["pipeline"], {})
        if found.get("answer") == _RESTARTED and status.get("error") and not status["batches"]:
            return {**found, "answer": _RESTARTED_IN_VAIN}
        return found

    def _answer(self, request: PipelineRequest, name: str, text: str) -> None:
        self._answers[name] = {"answered": request.id, "answer": text}


def _restart(name: str, follow: Follow | None) -> str | None:
    """Why it was not possible."""
    if follow is None:
        return "a connector file is not read again; stop it, and start it where it runs"
    try:
        follower = follow()
    except OSError as error:
        return f"its definition can't be read: {error}"
    return follower.restart(name)
