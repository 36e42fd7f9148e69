"""What the tests share: a fixed generator, and property tests that run the same examples every time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import taut

# Derandomized: a failure in CI is the failure at home. No deadline: a shared core is slow now and then.
settings.register_profile(
    "taut", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("taut")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def load_text(tmp_path):
    """Writes a robot file and loads it, without its warnings."""

    def load(text: str, name: str = "robot.xml", **options) -> taut.Scene:
        path = tmp_path / name
        path.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return taut.load(path, **options)

    return load
