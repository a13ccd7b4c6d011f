"""`barnabas app docs`."""

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.application.loading import load
from barnabas.cli.base.command import CommonOptions, command
from barnabas.cli.base.output import print_json, say

EPILOG = """\b
Examples:
  barnabas app docs orders:app
  barnabas app docs orders:app --output site/orders --app-version 2.1.0
  barnabas app docs orders:app --json
"""


@command("as_json")
def docs(
    common: CommonOptions,
    name: Annotated[
        str, typer.Argument(metavar="MODULE:NAME", help="Application, as orders:app for orders.py.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")
    ] = Path("app-docs"),
    app_version: Annotated[
        str, typer.Option(metavar="TEXT", help="Version of the application.")
    ] = "0.1.0",
) -> None:
    """Describe an application from its types and docstrings.

    Writes asyncapi.json (AsyncAPI 3.0) and index.html; --json prints the document instead. No
    broker is needed.
    """
    from barnabas.app.documentation.asyncapi import asyncapi_of
    from barnabas.app.documentation.page import page_of

    document = asyncapi_of(load(name), app_version)
    if common.as_json:
        print_json(document)
        return
    import json

    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    (output / "asyncapi.json").write_text(f"{text}\n", encoding="utf-8")
    (output / "index.html").write_text(page_of(document), encoding="utf-8")
    say(f"wrote {output / 'index.html'} and {output / 'asyncapi.json'}")
