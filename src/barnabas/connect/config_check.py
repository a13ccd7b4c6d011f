"""Checks the settings of a connector, in a child process where that runs code of the user's.

The class of `from_connector` and `to_connector` is imported and made to check its arguments. It may
hang, print, end its process, or stay in memory as it was before it was edited.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from barnabas.connect.code_settings import code_refusal
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.kinds import PIPELINE
from barnabas.spark.pipelines.connectors.pipeline_files import SQL, check_config
from barnabas.spark.pipelines.connectors.settings import ConfigErrors
from barnabas.spark.pipelines.connectors.validation import validated, with_errors

TIME_LIMIT_S = 60.0
_OWN_CLASSES = ("connector", "source.connector", "sink.connector")
_EXCERPT = 300


async def config_errors(
    config: Mapping[str, str],
    folder: Path,
    limit_s: float = TIME_LIMIT_S,
    *,
    allow_code: bool = True,
) -> ConfigErrors:
    """What is wrong with settings; `folder` has the pipelines and classes of the service."""
    refused = code_refusal(config, allow_code=allow_code)
    if refused is not None:
        return ConfigErrors({refused[0]: [refused[1]]})
    blamed = _runs_user_code(config)
    if blamed is None:
        return await asyncio.to_thread(check_config, config, folder)
    found = await _in_child(config, folder, limit_s)
    if isinstance(found, str):
        return ConfigErrors({blamed: [f"{blamed}: {found}"]})
    return ConfigErrors(found)


async def config_validation(
    plugin: str, config: Mapping[str, str], folder: Path, *, allow_code: bool = True
) -> dict[str, Any]:
    """The settings of a plugin with what is wrong with them; raises `InvalidArgument`."""
    is_refused = code_refusal(config, allow_code=allow_code) is not None
    if _runs_user_code(config) is None and not is_refused:
        return await asyncio.to_thread(validated, plugin, config, folder)
    errors = await config_errors(config, folder, allow_code=allow_code)
    return with_errors(plugin, config, errors.found)


def _runs_user_code(config: Mapping[str, str]) -> str | None:
    """The setting that names the code; None if there is none."""
    if config.get("connector.class") == PIPELINE:
        return SQL if config.get(SQL) else None  # Python files are only looked for
    return next((each for each in _OWN_CLASSES if each in config), None)


async def _in_child(
    config: Mapping[str, str], folder: Path, limit_s: float
) -> dict[str, list[str]] | str:
    """The errors, or why they are not known."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "barnabas.connect.config_check",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limit_s):
            out, said = await process.communicate(_question(config, folder))
    except TimeoutError:
        return f"checking it took more than {limit_s:g} s; does the class work when it is made?"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    try:
        found: dict[str, list[str]] = json.loads(out)
    except ValueError:
        last = said.decode(errors="replace").strip()[-_EXCERPT:]
        return f"the check has ended with exit code {process.returncode}: {last}"
    return found


def _question(config: Mapping[str, str], folder: Path) -> bytes:
    return json.dumps({"config": dict(config), "folder": str(folder.resolve())}).encode()


def main() -> None:
    """The child: reads settings, and prints what is wrong with them."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the user's code prints
    given = json.load(sys.stdin)
    sys.path.insert(0, given["folder"])  # classes of connectors may be there
    try:
        found = check_config(given["config"], Path(given["folder"])).found
    except InvalidArgument as error:
        found = {"connector.class": [str(error)]}
    except Exception as error:  # noqa: BLE001 - the user's code: any may come
        found = {"connector.class": [f"{type(error).__name__}: {error}"]}
    json.dump(found, out)
    out.flush()
    os._exit(0)  # whatever threads the user's code has started


if __name__ == "__main__":
    main()
