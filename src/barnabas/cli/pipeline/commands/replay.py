"""`barnabas pipeline replay`: options and arguments."""

from barnabas.cli.base.command import CLUSTER, CommonOptions, command
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.cli.pipeline.arguments import (
    Definitions,
    Names,
    Version,
    chosen_of,
    cluster_of,
)

EPILOG = "Example: barnabas pipeline replay views.py views_per_minute"


@command(*CLUSTER, "as_json")
def replay(
    common: CommonOptions,
    path: Definitions,
    names: Names = None,
    version: Version = None,
) -> None:
    """Send dead letters back to their topics, each once.

    Do this after the pipeline or the schema is fixed. The dead letters stay in their topic; the
    group TOPIC.replay records which ones were sent, also by `dead-letters replay`.
    """
    from barnabas.spark.pipelines.operations.replay import has_dead_letters, replay_dead_letters

    cluster = cluster_of(common)
    chosen = [each for each in chosen_of(path, names, version) if names or has_dead_letters(each)]
    sent: list[tuple[str, str, str, int]] = []
    for each in chosen:
        found = replay_dead_letters(each, cluster.bootstrap_servers, security=cluster.security)
        sent += [(each.name, *places, records) for places, records in sorted(found.items())]
    if common.as_json:
        names_of = ("pipeline", "dead_letters", "topic", "records")
        print_json([dict(zip(names_of, row, strict=True)) for row in sent])
    elif sent:
        print_table(("pipeline", "dead letters", "sent to", "records"), sent)
    else:
        say("no new dead letters to send back")
