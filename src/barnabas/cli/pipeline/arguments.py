"""What the commands of `barnabas pipeline` share: arguments, and the pipelines they name."""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommonOptions, UsageError

if TYPE_CHECKING:
    from barnabas.spark.cluster.cluster_address import ClusterAddress
    from barnabas.spark.pipelines import Pipeline


class GraphFormat(StrEnum):
    """How a graph is printed."""

    TEXT = "text"
    SVG = "svg"
    MERMAID = "mermaid"
    JSON = "json"


_VERSION = re.compile(r"[A-Za-z0-9_.-]+")

Definitions = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", help="A .py or .sql file that defines pipelines, or a folder of them."
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Pipelines; default: all.", show_default=False),
]
Checkpoints = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Checkpoint directory; a URL for the file system of a Spark cluster. "
        "Default: .barnabas/pipelines next to the definitions.",
        show_default=False,
    ),
]


def _check_version(version: str | None) -> str | None:
    """It becomes a part of names of topics and folders."""
    if version is not None and not _VERSION.fullmatch(version):
        raise typer.BadParameter("letters, digits, . _ -")
    return version


Version = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        callback=_check_version,
        help="Run as VERSION, alongside the original: names and outputs end with -VERSION.",
        show_default=False,
    ),
]


def chosen_of(
    path: Path,
    names: Iterable[str] | None,
    version: str | None = None,
    start_spark: Callable[[], object] | None = None,
) -> "list[Pipeline]":
    """The pipelines of these names, or all that a path defines."""
    from barnabas.spark.pipelines.definition.problems import load_all

    found = load_all(path, start_spark or (lambda: start_quietly(path)))
    names = list(names or found)
    unknown = [name for name in names if name not in found]
    if unknown:
        raise UsageError(f"no pipeline {unknown[0]!r} in {path}: there are {', '.join(found)}")
    chosen = [found[name] for name in dict.fromkeys(names)]
    if version is None:
        return chosen
    from barnabas.spark.pipelines.operations.versions import as_version

    return as_version(chosen, version)


def start_quietly(path: Path) -> object:
    """Start a small Spark, for definitions that need one."""
    from barnabas.cli.pipeline.spark import SparkOptions, start_spark

    return start_spark(SparkOptions(path, "definitions", master="local[1]"))


def cluster_of(common: CommonOptions) -> "ClusterAddress":
    """The cluster that the options of a command name; raises `InvalidArgument`."""
    from barnabas.spark.cluster.cluster_address import ClusterAddress

    config = common.client_config()
    return ClusterAddress(config.bootstrap, config.security_settings)
