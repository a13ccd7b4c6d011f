"""The commands of `barnabas pipeline`, one file each, with their options and arguments.

app        the Typer application that has all of them
run, list_pipelines, check, graph, status, reset, state, replay, compact, test

They import Spark only when they are called, so that `--help` is fast and works without it.
"""
