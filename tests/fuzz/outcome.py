"""What a case has to tell: how much was done, by name, and what was found."""

from __future__ import annotations

import contextlib
import os
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass
class Outcome:
    counts: Counter = field(default_factory=Counter)
    findings: list[dict[str, str]] = field(default_factory=list)
    at: Callable[[int], None] = lambda place: None  # tells the supervisor which input is under way
    first: int = 0  # the first input of the case to run: those before it are done

    def count(self, name: str, n: int = 1) -> None:
        self.counts[name] += n

    def add(self, counts: Counter) -> None:
        self.counts.update(counts)

    def finding(self, what: str, where: str = "", place: int = 0) -> None:
        if len(self.findings) < 20:
            self.findings.append({"what": what, "where": where, "sign": sign_of(what), "place": str(place)})

    @contextlib.contextmanager
    def guard(self, place: int) -> Iterator[None]:
        """An input: what it throws that no contract has is a finding, and the next one is tried."""
        self.at(place)
        try:
            yield
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
            self.finding(f"{type(error).__name__}: {str(error)[:300]}", where, place)


def sign_of(what: str) -> str:
    """A finding without its numbers: equal signs are one finding seen again."""
    return re.sub(r"\[[^\]]*\]", "[…]", re.sub(r"-?\d+\.?\d*(e[-+]?\d+)?", "#", what))[:160]
