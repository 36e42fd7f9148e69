"""What a campaign is made of, by name: the function that runs a case, what it counts, how long it may take."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from .outcome import Outcome


@dataclass(frozen=True)
class Kind:
    module: str
    what: str
    unit: str  # what a campaign asks so many of: steps, inputs or kills
    share: float  # of the cases of its unit
    size: int  # units a case has, about
    seconds: float = 60.0  # an input that takes longer hangs; generous, for a busy machine


@functools.cache
def runner(name: str) -> Callable[[list[int], Outcome], None]:
    """`run` of its module, or `run_<name>` where a module has several kinds."""
    place = KINDS[name].module
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location("kind", place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.run
    module = importlib.import_module(f".{place}", __package__)
    return getattr(module, f"run_{name}", None) or module.run


def seed_of(name: str, master: int, case: int) -> list[int]:
    """A stream for each kind and case, whatever other kinds there are."""
    return [master, zlib.crc32(name.encode()), case]


# What counts as an input: a file that is read, a call of a program, a pair of shapes, a connection, a fault.
KINDS = {
    "steps": Kind("steps", "random scenes, stepped and judged", "steps", 1.0, 60),
    "programs": Kind("programs", "random programs over the API, misuse included", "inputs", 0.2, 40),
    "urdf": Kind("xml_files", "URDF files that are changed", "inputs", 0.15, 20),
    "mjcf": Kind("xml_files", "MJCF files that are changed", "inputs", 0.2, 20),
    "npz": Kind("zip_files", "recordings and problems in .npz", "inputs", 0.15, 20),
    "mcap": Kind("mcap_files", "recordings in .mcap", "inputs", 0.1, 20),
    "hdf5": Kind("hdf5_files", "problems in FCLIB's HDF5", "inputs", 0.1, 20),
    "collisions": Kind("collisions", "pairs of shapes at any pose", "inputs", 0.05, 20),
    "viewer": Kind("viewer", "hostile connections to the viewer", "inputs", 0.04, 20, 120.0),
    "faults": Kind("faults", "full disks, no memory, lost files", "inputs", 0.01, 1, 180.0),
    "kills": Kind("kills", "kill -9 while recording", "kills", 1.0, 1, 180.0),
}

if "TAUT_FUZZ_KIND" in os.environ:  # a file that the tests of the campaign itself write
    KINDS["bad"] = Kind(os.environ["TAUT_FUZZ_KIND"], "ends badly", "inputs", 1.0, 10, 3.0)
