"""What can be seen to be wrong before Spark, which takes a while, is started."""

from collections.abc import Iterable

from barnabas.cli.base.output import say
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines import Pipeline, PipelineError, RunFolder
from barnabas.spark.pipelines.errors.several import raise_all
from barnabas.spark.pipelines.run.dead_letters import dead_letter_pipelines
from barnabas.sync.admin import Admin


def check_before_start(pipelines: Iterable[Pipeline], bootstrap: str, folder: RunFolder) -> None:
    """Raise if one runs already, may not write to its table, or if no broker answers.

    Tells of topics that do not exist.
    """
    known = [all_of for each in pipelines for all_of in (each, *dead_letter_pipelines(each))]
    errors: list[BarnabasError] = []
    for each in known:
        try:
            folder.check_not_running(each.name)
            _check_output(each, folder)
        except (InvalidArgument, PipelineError) as error:
            errors.append(error)
    raise_all(errors)
    wanted = {
        topic: each.name
        for each in known
        for end in (*each.sources.values(), each.sink)
        for topic in end.required_topics
    }
    if not wanted:
        return
    with Admin(bootstrap) as admin:
        there = admin.topics(internal=True).keys()
    for topic in sorted(wanted.keys() - there):
        say(
            f"topic {topic} does not exist, and pipeline {wanted[topic]} needs it: "
            f"barnabas topics create {topic}"
        )


def _check_output(pipeline: Pipeline, folder: RunFolder) -> None:
    try:
        pipeline.sink.check(folder.writer_of(pipeline.name))
    except InvalidArgument as error:
        raise InvalidArgument(f"pipeline {pipeline.name}: {error}") from None
