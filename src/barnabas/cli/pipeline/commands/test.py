"""`barnabas pipeline test`: options and arguments."""

from typing import Annotated

import typer

from barnabas.cli.base.command import Verbose, common_options, exit_with
from barnabas.cli.pipeline.arguments import Definitions, with_spark

EPILOG = "Example: barnabas pipeline test pipelines/ -k late"


def run_tests(
    ctx: typer.Context,
    path: Definitions,
    keyword: Annotated[
        str | None,
        typer.Option("-k", metavar="EXPRESSION", help="Run only tests that match, as in pytest."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Run the tests of pipelines with pytest.

    For a folder, all tests in it. For a file, those in the file itself and in test_NAME.py or
    NAME_test.py next to it.
    """
    before = common_options(ctx)
    wordy = verbose or before.verbose

    def call() -> int:
        from barnabas.cli.pipeline.test import run_with_pytest

        return run_with_pytest(path, keyword, verbose=wordy)

    exit_with(with_spark(call), verbose=wordy)
