"""Finds errors before Spark is started, which takes seconds."""

import asyncio
from collections.abc import Collection, Iterable

from barnabas.cli.base.command import CLIENT_ID, CommandError
from barnabas.cli.base.output import say
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.security_settings import security_settings
from barnabas.client.rights.probe import missing_rights
from barnabas.client.rights.report import UNKNOWN_USER, rights_error
from barnabas.client.rights.right import Right
from barnabas.errors import BarnabasError, InvalidArgument, NotAuthorized
from barnabas.quantities import counted
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import Pipeline, PipelineError, RunFolder
from barnabas.spark.pipelines.errors.error_list import raise_all
from barnabas.spark.pipelines.operations.rights import rights_of
from barnabas.sync.admin import Admin

_CREATED = "the broker creates it with the first record, unless auto.create.topics.enable is false"


def check_before_start(
    pipelines: Iterable[Pipeline],
    cluster: ClusterAddress,
    folder: RunFolder,
    *,
    once: bool,
    keep_going: bool = False,
) -> None:
    """Raise if a pipeline is running already or may not write its output, or if no broker answers.

    A missing topic may be created later, and a pipeline waits for it. With `once` it does not wait:
    then a missing topic that is read is an error. One that is written is created by the broker,
    unless that is disabled. With `keep_going` it is enough if one pipeline can run.
    """
    known = list(pipelines)
    errors: list[BarnabasError] = []
    for each in known:
        try:
            folder.check_not_running(each.name)
            _check_output(each, folder)
        except (InvalidArgument, PipelineError) as error:
            errors.append(error)
    if not keep_going or len(errors) == len(known):
        raise_all(errors)
    read = {
        topic: each.name
        for each in known
        for source in each.sources.values()
        for topic in source.required_topics
    }
    written = {topic: each.name for each in known for topic in each.written_topics}
    if not read and not written:
        return
    if cluster.security:
        try:
            _check_rights(known, cluster)
        except NotAuthorized as error:
            if not keep_going:
                raise
            say(f"warning: {error}")
    with Admin(cluster.bootstrap_servers, security=cluster.security) as admin:
        there = admin.topics(internal=True).keys()
    # A topic that one pipeline reads and another one writes comes with its first record.
    uses = {topic: f"read by pipeline {name}" for topic, name in read.items()}
    uses |= {topic: f"written by pipeline {name}" for topic, name in written.items()}
    missing = {topic: uses[topic] for topic in sorted(uses.keys() - there)}
    if once and any(topic not in written for topic in missing):
        raise CommandError(_error(missing, is_secured=bool(cluster.security)))
    for topic, use in missing.items():
        warning = _error({topic: use}, is_secured=bool(cluster.security))
        say(warning if topic in read else f"{warning}, or {_CREATED}")


def _check_rights(pipelines: Collection[Pipeline], cluster: ClusterAddress) -> None:
    """What is denied now would stop a pipeline at its first batch."""
    rights = [each for one in pipelines for each in rights_of(one) if not each.is_optional]
    security = security_settings(cluster.security)

    async def missing() -> list[Right]:
        client = ClusterClient(cluster.bootstrap_servers, client_id=CLIENT_ID, security=security)
        async with client:
            return await missing_rights(client, rights)

    denied = asyncio.run(missing())
    if denied:
        user = security.sasl_username or UNKNOWN_USER
        raise rights_error(denied, f"this run of {counted(len(pipelines), 'pipeline')}", user)


def _error(missing: dict[str, str], *, is_secured: bool) -> str:
    """Brokers do not tell a user that may not describe a topic whether it exists."""
    if len(missing) == 1:
        ((topic, use),) = missing.items()
        hidden = ", or this user may not describe it" if is_secured else ""
        return f"topic {topic}, {use}, does not exist{hidden}: barnabas topics create {topic}"
    lines = [f"  {topic}, {use}" for topic, use in missing.items()]
    hidden = ", or this user may not describe them" if is_secured else ""
    heading = f"{len(missing)} topics do not exist{hidden}:"
    return "\n".join([heading, *lines, "create each: barnabas topics create NAME"])


def _check_output(pipeline: Pipeline, folder: RunFolder) -> None:
    try:
        pipeline.sink.check(folder.writer_of(pipeline.name))
    except InvalidArgument as error:
        raise InvalidArgument(f"pipeline {pipeline.name}: {error}") from None
