"""What tests of the catalogue share: tiny data, made once."""

import pytest

from tests.experiments.catalogue.small import Data


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data.written(tmp_path_factory.mktemp("data"))
