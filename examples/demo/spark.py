"""Spark with the pipelines of `pipelines.py`: the usual command, as a process."""

from asyncio.subprocess import Process
from pathlib import Path

from barnabas.spark.sessions.jvm_options import SHORT_LIVED
from examples.demo.processes import OnRow, Processes

PIPELINES = Path(__file__).with_name("pipelines.py")


async def run_pipelines(
    processes: Processes,
    bootstrap: str,
    database: str,
    folder: Path,
    work: Path,
    on_status: OnRow,
) -> Process:
    """`on_status` hears how a pipeline is whenever a batch of it is done.

    `database` is the URL of the shop's. Tables are created in `folder`, temporary files in `work`.
    """
    return await processes.client(
        "-m", "barnabas", "pipeline", "run", str(PIPELINES), "--bootstrap", bootstrap,
        "--checkpoints", str(work), "--master", "local[2]", "--conf", "spark.ui.enabled=false",
        "--json",
        on_row=on_status,
        cwd=work,
        env={**_environment(work, folder), "DATABASE": database},
    )  # fmt: skip


def _environment(work: Path, tables: Path) -> dict[str, str]:
    """Temporary files go where they are removed even after a kill."""
    work.mkdir()
    return {
        "JAVA_TOOL_OPTIONS": f"{SHORT_LIVED} -Djava.io.tmpdir={work}",
        "SPARK_LOCAL_DIRS": str(work),
        "TMPDIR": str(work),
        "TABLES": str(tables.absolute()),
    }
