"""The commands of `barnabas pipeline`."""

import typer

from barnabas.cli.pipeline.commands import (
    check,
    compact,
    graph,
    list_pipelines,
    replay,
    reset,
    rights,
    run,
    state,
    status,
    test,
)

app = typer.Typer(
    no_args_is_help=True,
    help="Run pipelines on Spark, and test and inspect them.",
)

app.command("run", epilog=run.EPILOG)(run.run)
app.command("list", epilog=list_pipelines.EPILOG)(list_pipelines.list_pipelines)
app.command("check", epilog=check.EPILOG)(check.check)
app.command("graph", epilog=graph.EPILOG)(graph.graph)
app.command("rights", epilog=rights.EPILOG)(rights.rights)
app.command("status", epilog=status.EPILOG)(status.status)
app.command("reset", epilog=reset.EPILOG)(reset.reset)
app.command("state", epilog=state.EPILOG)(state.state)
app.command("replay", epilog=replay.EPILOG)(replay.replay)
app.command("compact", epilog=compact.EPILOG)(compact.compact)
app.command("test", epilog=test.EPILOG)(test.run_tests)
