"""Processes of their own, for what a process may not survive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def spawn(code: str, *arguments: str, before: list[str] | None = None) -> subprocess.Popen:
    """Python that runs `code` with this package on its path."""
    head = f"import sys; sys.path.insert(0, {str(PACKAGE)!r})\n"
    return subprocess.Popen(
        [*(before or []), sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", head + code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
