"""What the commands that call a registry share."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from barnabas.formats.registered.client import RegistryClient

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
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="Subject, such as orders-value.")]


def registry_client(url: str) -> "RegistryClient":
    from barnabas.formats.registered.client import RegistryClient

    return RegistryClient(url)
