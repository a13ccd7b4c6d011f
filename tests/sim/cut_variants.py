"""Rules broken that show only when a cut lasts for many seconds; here every run has such a cut."""

from unittest.mock import patch

from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.sim import run
from tests.sim.variant import Variant

_FORGOTTEN_MS = 4_000


def _cut_off_for_a_while(self: BrokerLifecycle) -> bool:
    is_long = self._clock.steady_ms() - self._heard_of_ms > _FORGOTTEN_MS
    return bool(original_is_cut_off.__get__(self)) and not is_long


original_is_cut_off = BrokerLifecycle.is_cut_off


VARIANTS: dict[str, Variant] = {
    "serve again when cut off for long": Variant(
        [
            patch.object(BrokerLifecycle, "is_cut_off", property(_cut_off_for_a_while)),
            patch.object(run, "_LONG_CUTS", 1.0),
        ],
        "network",
    ),
}
