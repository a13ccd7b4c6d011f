"""A SPARK_HOME without the packed copy of PySpark.

Spark puts `python/lib/pyspark.zip` first on the path of its workers, and what Python imports
from a zip file is compiled again in every process, which takes seconds. On this machine the
installed package does as well.
"""

import atexit
import shutil
import tempfile
from pathlib import Path

import pyspark

_NEEDED = ("bin", "jars")


def lean_home() -> Path | None:
    """A directory with links to what Spark needs; None if PySpark does not include Spark."""
    package = Path(pyspark.__file__).parent
    if not all((package / name).is_dir() for name in _NEEDED):
        return None
    home = Path(tempfile.mkdtemp(prefix="barnabas-spark-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for name in _NEEDED:
        (home / name).symlink_to(package / name)
    return home
