"""Dead letters: a second query for a pipeline, with the records that its source leaves out.

It is called `NAME.dead-letters`, reads the same records, and keeps exactly those that the first
query skips. Each has its own checkpoint, so both run independently, and every record is taken by
one of them.
"""

from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.sinks.topic import TopicSink

DEAD_LETTERS = "dead-letters"


def dead_letter_pipelines(defined: Pipeline) -> list[Pipeline]:
    """Those that write what the sources of a pipeline can't decode."""
    found = []
    for name, source in defined.sources.items():
        letters = source.dead_letter_stream
        if letters is None:
            continue
        only = len(defined.sources) == 1
        found.append(
            Pipeline(
                f"{defined.name}.{DEAD_LETTERS}"
                if only
                else f"{defined.name}.{name}.{DEAD_LETTERS}",
                lambda records: records,
                {"records": letters.records},
                TopicSink(
                    letters.topic,
                    exactly_once=defined.sink.exactly_once,
                    options={**defined.sink.producer_options, "includeHeaders": "true"},
                ),
                defined.trigger,
                defined_in=defined.defined_in,
            )
        )
    return found
