"""What the commands that call a registry share."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from barnabas.formats.registered.client import RegistryClient

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="Subject, such as orders-value.")]


def registry_client(url: str) -> "RegistryClient":
    from barnabas.formats.registered.client import RegistryClient

    return RegistryClient(url)
