"""One node below `barnabas server --nodes`, with its settings as NAME=VALUE arguments, and those
that are secret in its environment. It ends with the supervisor.
"""

import os
import sys

from barnabas.broker.server import main
from barnabas.cli.server.lifeline import end_with_parent
from barnabas.cli.server.secret_settings import take_from

if __name__ == "__main__":
    end_with_parent()
    sys.exit(main([*sys.argv[1:], *take_from(os.environ)]))
