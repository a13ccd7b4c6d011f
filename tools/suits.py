"""`PYTHON tools/suits.py`: succeeds if this interpreter can run the tests.

It must be new enough, be able to make environments, and have the headers for the compiled kernel.
"""

import importlib.util
import sys
import sysconfig
from pathlib import Path

is_new = sys.version_info >= (3, 11)
has_pip = importlib.util.find_spec("ensurepip") is not None
has_headers = Path(sysconfig.get_path("include"), "Python.h").exists()
sys.exit(not (is_new and has_pip and has_headers))
