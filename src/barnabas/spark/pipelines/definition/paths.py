"""Paths in definitions, which are relative to the folder of the file that they are in.

So a pipeline reads and writes the same files from wherever it is run, as it has one checkpoint.
"""

import re
from dataclasses import replace
from pathlib import Path

from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.sinks.topic import ParquetSink, Sink
from barnabas.spark.pipelines.sources.topic import FilesSource, Source, TableSource, TopicSource

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_AVRO_TEXT = ("{", '"')


def with_paths_from(defined: Pipeline, folder: Path) -> Pipeline:
    """A pipeline whose relative paths begin in a folder."""
    return replace(
        defined,
        sources={name: _source(each, folder) for name, each in defined.sources.items()},
        sink=_sink(defined.sink, folder),
    )


def _source(source: Source, folder: Path) -> Source:
    if isinstance(source, FilesSource):
        return replace(source, path=_path(source.path, folder))
    if isinstance(source, TableSource | TopicSource) and source.format == "avro":
        schema = source.schema
        if isinstance(schema, str) and not schema.lstrip().startswith(_AVRO_TEXT):
            return replace(source, schema=_path(schema, folder))
    return source


def _sink(sink: Sink, folder: Path) -> Sink:
    if isinstance(sink, ParquetSink):
        return replace(sink, path=_path(sink.path, folder))
    return sink


def _path(path: str, folder: Path) -> str:
    return path if _URL.match(path) else str(folder / path)
