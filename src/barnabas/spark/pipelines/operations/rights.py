"""The rights that a pipeline needs on a cluster with access rules, from its definition."""

from collections.abc import Iterator

from barnabas.client.rights.right import Right, created_topic, group, topic, transactional_id
from barnabas.flow.reports import TOPIC as REPORTS
from barnabas.flow.requests import TOPIC as REQUESTS
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.sinks.topic import TopicSink
from barnabas.spark.sink.commit_log import PREFIX as COMMIT_IDS
from barnabas.spark.sink.commit_log import TOPIC as COMMITS
from barnabas.wire.acl_codes import AclOperation, ResourceType

_CONSOLE = {
    REPORTS: (AclOperation.WRITE, AclOperation.DESCRIBE),
    REQUESTS: (AclOperation.READ, AclOperation.DESCRIBE),
}


def rights_of(pipeline: Pipeline) -> list[Right]:
    """Those on its own cluster. The topics of a pattern are not known before it runs."""
    return list(_rights_of(pipeline))


def _rights_of(pipeline: Pipeline) -> Iterator[Right]:
    who = f"pipeline {pipeline.name}"
    read = [name for source in pipeline.sources.values() for name in source.required_topics]
    for name in read:
        yield topic(AclOperation.READ, name, who)
    for name in pipeline.written_topics:
        yield topic(AclOperation.WRITE, name, who)
    if read:
        yield group(pipeline.name, f"progress of {who}")
    if any(
        each.dead_letter_topic is not None and not each.is_of_other_cluster
        for each in pipeline.sources.values()
    ):
        what = f"dead letters of {who}"
        yield group(f"{pipeline.name}.", what, prefixed=True)
        yield transactional_id(f"{pipeline.name}.", what, prefixed=True)
    if isinstance(pipeline.sink, TopicSink) and pipeline.sink.exactly_once:
        what = f"exactly_once of {who}"
        yield transactional_id(COMMIT_IDS, what, prefixed=True)
        yield Right(
            AclOperation.TWO_PHASE_COMMIT,
            ResourceType.TRANSACTIONAL_ID,
            COMMIT_IDS,
            what,
            prefixed=True,
        )
        yield topic(AclOperation.READ, COMMITS, what)
        yield topic(AclOperation.WRITE, COMMITS, what)
        yield created_topic(COMMITS, what)
    for name, operations in _CONSOLE.items():
        for operation in operations:
            what = f"{who} in the console"
            yield Right(operation, ResourceType.TOPIC, name, what, is_optional=True)
        yield created_topic(name, what)._replace(is_optional=True)
