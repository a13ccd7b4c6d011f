"""`barnabas pipeline status`: options and arguments."""

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommonOptions, UsageError, command
from barnabas.cli.base.output import say
from barnabas.cli.pipeline.arguments import Checkpoints, Definitions, Names, Version

EPILOG = "Example: barnabas pipeline status pipelines/"


@command("as_json")
def status(
    common: CommonOptions,
    path: Definitions,
    names: Names = None,
    checkpoints: Checkpoints = None,
    version: Version = None,
) -> int:
    """Show the progress of pipelines on this machine.

    Pipelines that have ended are shown too. The exit code is 1 if one has failed.
    """
    from barnabas.cli.pipeline.status import chosen_statuses
    from barnabas.cli.pipeline.view import print_statuses
    from barnabas.spark.pipelines.run.run_folder import RunFolder, statuses

    if not path.exists():
        raise UsageError(f"{path} does not exist")
    folder = RunFolder.of(path, checkpoints)
    all_of_them = statuses(folder, path if path.is_file() else None)
    found = chosen_statuses(all_of_them, names, version)
    print_statuses(found, as_json=common.as_json)
    if not found:
        of_version = "" if version is None else f" as version {version}"
        say(f"no pipeline has run{of_version}: {folder.folder} is empty")
    bad = any(each["state"] in ("failed", "died") for each in found)
    return exit_codes.FAILURE if bad else exit_codes.OK
