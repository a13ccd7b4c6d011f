"""All mutations, from the core outwards. `tests/test_mutations.py` checks that each applies."""

from collections.abc import Sequence

from tools.mutations.entries.around import AROUND
from tools.mutations.entries.broker import BROKER
from tools.mutations.entries.client import CLIENT
from tools.mutations.entries.core import CORE
from tools.mutations.entries.storage import STORAGE
from tools.mutations.mutation import Mutation

CATALOG: Sequence[Mutation] = (*CORE, *STORAGE, *BROKER, *CLIENT, *AROUND)
