"""The campaign's journal: a line of JSON for every case and crash, from which it goes on or tells its summary."""

from __future__ import annotations

import json
import platform
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from .kinds import KINDS

ROOT = Path(__file__).parents[2]


def commit() -> str:
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


class Journal:
    def __init__(self, path: Path | None, head: dict[str, Any], resume: bool) -> None:
        self.counts: dict[str, Counter] = defaultdict(Counter)
        self.cases: Counter = Counter()  # the next case of each kind
        self.findings: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        self.memory: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self.seconds = 0.0
        self.before = 0.0  # of runs that this one goes on with
        self.head = head
        if resume and path is not None and path.exists():
            self.read(path)
            self.before = self.seconds
        elif path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        self.file = None if path is None else open(path, "a")  # noqa: SIM115 - for as long as the campaign
        self._write({"head": self.head})

    def read(self, path: Path) -> Journal:
        for line in path.read_text().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:  # the last line of a campaign that was killed
                continue
            if "head" in entry:
                self.head = entry["head"]
            else:
                self._take(entry)
        return self

    def _write(self, entry: dict[str, Any]) -> None:
        if self.file is not None:
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()

    def note(self, entry: dict[str, Any]) -> None:
        self._write(entry)
        self._take(entry)

    def _take(self, entry: dict[str, Any]) -> None:
        kind = entry["kind"]
        self.seconds = max(self.seconds, entry.get("time", 0.0))
        self.counts[kind].update(entry.get("counts", {}))
        self.cases[kind] = max(self.cases[kind], entry["case"] + 1)
        self.counts[kind]["cases"] += 1
        for found in entry.get("findings", []):
            self.findings[kind, found["sign"]].append({**found, "case": entry["case"]})
        if "resident" in entry:
            self.memory[f"{entry['life']}"].append((entry["time"], entry["resident"]))

    def done(self, unit: str) -> int:
        return sum(self.counts[name][unit] for name, kind in KINDS.items() if kind.unit == unit)

    def growth(self) -> tuple[float, float] | None:
        """Of the worker that lived longest: growth of its memory after a fifth of its life, in %; hours."""
        lives = [life for life in self.memory.values() if len(life) >= 20]
        if not lives:
            return None
        life = max(lives, key=lambda points: points[-1][0] - points[0][0])
        rest = [kb for _, kb in life[len(life) // 5 :]]
        tenth = max(1, len(rest) // 10)
        first, last = sorted(rest[:tenth])[tenth // 2], sorted(rest[-tenth:])[tenth // 2]
        return 100 * (last - first) / first, (life[-1][0] - life[0][0]) / 3600

    def summary(self) -> str:
        head = self.head
        lines = [
            "| | |",
            "|---|---|",
            f"| seed | {head['seed']} |",
            f"| commit | {head['commit']} |",
            f"| begun | {head['begun']} |",
            f"| took | {self.seconds / 60:.1f} min with {head['jobs']} workers on {platform.machine()} |",
        ]
        for unit in ("steps", "inputs", "kills"):
            lines.append(f"| {unit} | {self.done(unit):,} |")
        judged = self.counts["steps"]
        lines.append(f"| steps judged by the exact law | {judged['judged']:,} |")
        growth = self.growth()
        if growth:
            lines.append(f"| memory of a worker after a fifth of its {growth[1]:.2f} h | {growth[0]:+.2f} % |")
        lines.append(f"| findings | {len(self.findings)} |")
        lines += ["", "| kind | what | cases | units |", "|---|---|---|---|"]
        for name, kind in KINDS.items():
            if self.cases[name]:
                counts = self.counts[name]
                lines.append(f"| {name} | {kind.what} | {counts['cases']:,} | {counts[kind.unit]:,} {kind.unit} |")
        for name in KINDS:
            rest = {k: n for k, n in self.counts[name].items() if k not in ("cases", KINDS[name].unit)}
            if rest:
                lines += ["", f"{name}:", ""]
                lines += [f"- {n:,} {k}" for k, n in sorted(rest.items(), key=lambda item: -item[1])[:40]]
        if self.findings:
            lines += ["", "| finding | kind | times | first (case, input) |", "|---|---|---|---|"]
            for (kind, _), found in sorted(self.findings.items(), key=lambda item: -len(item[1])):
                one = found[0]
                what = (one["what"] + (f" ({one['where']})" if one["where"] else "")).replace("|", "\\|")[:400]
                lines.append(f"| {what} | {kind} | {len(found)} | {one['case']}, {one['place']} |")
        return "\n".join(lines) + "\n"
