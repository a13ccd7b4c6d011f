"""The schema registry that a command calls."""

from typing import Annotated

import typer

DEFAULT_URL = "http://localhost:8081"
RegistryUrl = Annotated[
    str,
    typer.Option(
        "--registry",
        metavar="URL",
        envvar="BARNABAS_REGISTRY",
        help="Schema registry; https://USER:PASSWORD@HOST signs in.",
    ),
]
