"""`barnabas pipeline test`: options and arguments."""

from typing import Annotated

import typer

from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.pipeline.arguments import Definitions

EPILOG = "Example: barnabas pipeline test pipelines/ -k late"


@command()
def run_tests(
    common: CommonOptions,
    path: Definitions,
    keyword: Annotated[
        str | None,
        typer.Option("-k", metavar="EXPRESSION", help="Run only tests that match, as in pytest."),
    ] = None,
) -> int:
    """Run the tests of pipelines with pytest.

    For a folder, all tests in it. For a file, those in the file itself and in test_NAME.py or
    NAME_test.py next to it.
    """
    wordy = common.verbose

    from barnabas.cli.pipeline.test import run_with_pytest

    return run_with_pytest(path, keyword, verbose=wordy)
