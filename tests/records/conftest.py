"""Tests of this package run twice: with the compiled kernel, and without it.

Unless their module overrides `implementation`, because the kernel has no part in it.
"""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from barnabas.records import check, decode, encode, validate
from barnabas.records.columns import decoder, encoder, partitioning
from barnabas.records.kernel import kernel

# No deadline for single examples: a busy machine is no defect.
settings.register_profile("records")
settings.load_profile("records")

USERS = (check, validate, decode, encode, decoder, encoder, partitioning)


@pytest.fixture(autouse=True, scope="module", params=["kernel", "python"])
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "kernel" and kernel is None:
        pytest.skip("the kernel is not compiled")
    with pytest.MonkeyPatch.context() as patch:
        for module in USERS:
            patch.setattr(module, "kernel", kernel if request.param == "kernel" else None)
        yield request.param
