"""Contact problems in and out of files."""

from __future__ import annotations

import os
import zipfile

import numpy as np

from . import _taut


class Problem(_taut.Problem):
    """Find impulses λ in K_mu with λ ⊥ c + (0, 0, mu |c_t|) in K_mu*, c = (G + R) λ + g.

    Problem(G, g, mu, R=None): contacts only, a contact is (t1, t2, normal).
    """

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Problem:
        """Read an .npz file with `g`, `mu` and G, dense as `G` or in scipy's CSR layout as `data, indices, indptr`."""
        if not os.path.exists(path):
            raise FileNotFoundError(f"no such file: '{os.fspath(path)}'")
        try:
            with np.load(path) as file:
                arrays = {name: file[name] for name in file.files}
        except (ValueError, OSError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(f"'{os.fspath(path)}' is not an .npz file: {error}") from error
        missing = [name for name in ("g", "mu") if name not in arrays]
        if missing or not ("G" in arrays or {"data", "indices", "indptr"} <= arrays.keys()):
            raise ValueError(f"'{os.fspath(path)}' needs g, mu and G (or data, indices, indptr); has {sorted(arrays)}")
        return cls(_dense(arrays), arrays["g"].astype(float), arrays["mu"].astype(float), arrays.get("R"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what `load` reads; contacts only."""
        if any(kind != "cone" for kind in self.kinds):
            raise ValueError("only problems whose blocks are all contacts have a file format")
        np.savez_compressed(path, G=self.G, g=self.g, mu=self.mu, R=self.R)


def _dense(arrays: dict[str, np.ndarray]) -> np.ndarray:
    if "G" in arrays:
        return arrays["G"].astype(float)
    rows = len(arrays["indptr"]) - 1
    if len(arrays["indices"]) and not 0 <= arrays["indices"].min() <= arrays["indices"].max() < rows:
        raise ValueError(f"indices of G are outside 0 … {rows - 1}")
    G = np.zeros((rows, rows))
    row_of = np.repeat(np.arange(rows), np.diff(arrays["indptr"]))
    np.add.at(G, (row_of, arrays["indices"]), arrays["data"])
    return G
