"""A reader that all tests of handwriting share."""

import pytest

from tests.tasks.hwf.written_lines import KnownHand


@pytest.fixture(scope="session")
def network() -> KnownHand:
    return KnownHand()
