"""The campaign: workers that are fed with seeds, watched, and started anew when they die or hang."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import queue
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from .journal import Journal, commit
from .kinds import KINDS
from .outcome import sign_of

HERE = Path(__file__).parent
# What a process says as it dies, among all that libraries print.
LAST_WORDS = r"terminate called|what\(\)|Assertion|Sanitizer|free\(\)|malloc|corrupt|stack smashing|MemoryError|QH\d+"


class Worker:
    """One process. Its answers come by a thread, since a pipe cannot be waited for with a limit everywhere."""

    lives = 0

    def __init__(self, memory: int, folder: Path) -> None:
        Worker.lives += 1
        self.life = Worker.lives
        self.place = folder / f"place-{self.life}"
        self.errors = folder / f"stderr-{self.life}"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE), "worker", str(memory), str(self.place)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(folder)},
            )
        self.answers: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def at(self) -> int:
        try:
            return struct.unpack("<q", self.place.read_bytes()[:8])[0]
        except (OSError, struct.error):
            return 0

    def used(self) -> float:
        """Seconds of the processor's time, of all its threads."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def run(self, job: dict, limit: float) -> dict | str:
        """The answer, or what became of the process. An input hangs that takes more than the limit of the processor's
        time, or ten times as long: a busy machine is no finding."""
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
        except OSError:
            return self._end("died")
        place, since, used = self.at(), time.monotonic(), self.used()
        while True:
            try:
                answer = self.answers.get(timeout=0.5)
            except queue.Empty:
                if self.at() != place:
                    place, since, used = self.at(), time.monotonic(), self.used()
                elif self.used() - used > limit or time.monotonic() - since > 10 * limit:
                    return self._end(f"hangs: more than {limit:g} s")
                continue
            return self._end("died") if answer is None else json.loads(answer)

    def _end(self, what: str) -> str:
        hung = what.startswith("hangs")
        if hung:
            self.process.send_signal(6)  # faulthandler says where
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        code = self.process.wait()
        told = self.errors.read_text(errors="replace")[-20000:]
        # The thread that died, not those that waited beside it.
        dying = told.partition("Current thread")[2].partition("\n\n")[0] or told
        frames = re.findall(r'File "([^"]+)", line \d+ in (\S+)', dying)
        own = [(f, name) for f, name in frames if Path(f).parent == HERE][:1]  # which call of ours it was
        taut = [(f, name) for f, name in frames if Path(f).parent != HERE and not f.startswith("<")]
        where = " < ".join(f"{Path(f).name}:{name}" for f, name in [*taut, *own]) or "?"
        said = [line.strip() for line in told.splitlines() if re.search(LAST_WORDS, line)][:2]
        return f"{what if hung else f'process ended with {code}'} in {where}: {' / '.join(said)[:300]}"

    def close(self) -> None:
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


class Plan:
    """Which case is next: of each unit so many, shared between its kinds."""

    def __init__(self, wanted: dict[str, int], only: list[str], journal: Journal) -> None:
        self.wanted, self.journal = wanted, journal
        self.kinds = [name for name in KINDS if not only or name in only]
        self.next = dict(journal.cases)
        self.asked = {name: journal.counts[name][KINDS[name].unit] for name in self.kinds}
        self.skipped: set[str] = set()
        self.lock = threading.Lock()

    def take(self) -> tuple[str, int] | None:
        with self.lock:
            best, least = None, 1.0
            for name in self.kinds:
                kind = KINDS[name]
                total = sum(KINDS[n].share for n in self.kinds if KINDS[n].unit == kind.unit and n not in self.skipped)
                target = self.wanted[kind.unit] * kind.share / total if total and name not in self.skipped else 0
                if target and self.asked[name] / target < least:
                    best, least = name, self.asked[name] / target
            if best is None:
                return None
            self.asked[best] += KINDS[best].size
            case = self.next.get(best, 0)
            self.next[best] = case + 1
            return best, case

    def correct(self, name: str, done: int) -> None:
        """A case has done more or less than was thought."""
        with self.lock:
            self.asked[name] += done - KINDS[name].size

    def skip(self, name: str) -> None:
        with self.lock:
            self.skipped.add(name)


def campaign(
    steps: int = 0,
    inputs: int = 0,
    kills: int = 0,
    seed: int = 1,
    hours: float = 0.0,
    jobs: int = 1,
    only: list[str] | None = None,
    memory: int = 6144,
    path: Path | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Journal:
    head = {
        "seed": seed,
        "commit": commit(),
        "begun": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes"),
        "jobs": jobs,
        "wanted": {"steps": steps, "inputs": inputs, "kills": kills},
    }
    journal = Journal(path, head, resume)
    seed = journal.head["seed"]
    plan = Plan({"steps": steps, "inputs": inputs, "kills": kills}, only or [], journal)
    begun, lock = time.monotonic(), threading.Lock()

    def now() -> float:
        return journal.before + time.monotonic() - begun

    stop = threading.Event()

    def feed(folder: Path) -> None:
        worker = Worker(memory, folder)
        while not stop.is_set() and not (hours and now() > 3600 * hours):
            taken = plan.take()
            if taken is None:
                break
            name, case = taken
            first, deaths = 0, 0
            while True:
                job = {"kind": name, "master": seed, "case": case, "first": first}
                answer = worker.run(job, KINDS[name].seconds)
                if isinstance(answer, dict):
                    answer.update(time=round(now(), 2), life=f"{journal.before:.0f}:{worker.life}")
                    break
                place = worker.at()
                found = {"what": answer, "where": "", "sign": sign_of(answer), "place": str(place)}
                with lock:
                    journal.note({**job, "findings": [found], "time": round(now(), 2)})
                worker.close()
                worker = Worker(memory, folder)
                deaths += 1
                # On with the input after the one that ended it; of steps and programs the case is over.
                if place < first or KINDS[name].size <= 1 or KINDS[name].unit != "inputs" or deaths > 20:
                    answer = None
                    break
                first = place + 1
            if answer is None:
                continue
            with lock:
                journal.note(answer)
            if answer["counts"].get("not here"):
                plan.skip(name)
            plan.correct(name, answer["counts"].get(KINDS[name].unit, 0))
        worker.close()

    with tempfile.TemporaryDirectory(prefix="taut-fuzz-") as folder:
        threads = [threading.Thread(target=feed, args=(Path(folder),)) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        try:
            last = 0.0
            while any(thread.is_alive() for thread in threads):
                time.sleep(0.1)
                if progress and now() - last > 10:
                    last = now()
                    done = ", ".join(f"{journal.done(unit):,} {unit}" for unit in ("steps", "inputs", "kills"))
                    print(
                        f"{last / 60:6.1f} min: {done}, {len(journal.findings)} findings", file=sys.stderr, flush=True
                    )
        except KeyboardInterrupt:
            stop.set()
            print("stopping after the cases under way", file=sys.stderr)
        for thread in threads:
            thread.join()
    journal.seconds = now()
    return journal


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="a campaign")
    run.add_argument("--steps", type=int, default=1_000_000)
    run.add_argument("--inputs", type=int, default=100_000)
    run.add_argument("--kills", type=int, default=200)
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--hours", type=float, default=0.0, help="stop after so long, whatever is done; 0: when all is")
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    run.add_argument("--memory", type=int, default=6144, help="MB of address space of a worker")
    run.add_argument("--only", action="append", choices=list(KINDS), help="this kind; may be repeated")
    run.add_argument("--journal", type=Path, default=None, help="default: build/campaign/SEED.jsonl")
    run.add_argument("--resume", type=Path, default=None, metavar="FILE", help="go on with this journal")
    again = commands.add_parser("replay", help="one case of a campaign, in this process")
    again.add_argument("kind", choices=list(KINDS))
    again.add_argument("seed", type=int)
    again.add_argument("case", type=int)
    again.add_argument("first", type=int, nargs="?", default=0, help="the input to begin with")
    table = commands.add_parser("summary", help="of a journal")
    table.add_argument("journal", type=Path)
    slave = commands.add_parser("worker")
    slave.add_argument("memory", type=int)
    slave.add_argument("place")
    given = parser.parse_args(arguments)
    if given.command == "worker":
        from .worker import main as work

        work(given.memory, given.place)
        return 0
    if given.command == "replay":
        import faulthandler

        from .worker import run_case

        faulthandler.enable()
        outcome = run_case(given.kind, given.seed, given.case, given.first)
        for name, n in outcome.counts.most_common():
            print(f"{n:8d} {name}")
        for found in outcome.findings:
            print(f"{found['what']} ({found['where']}), input {found['place']}")
        return 1 if outcome.findings else 0
    if given.command == "summary":
        print(Journal(None, {}, False).read(given.journal).summary())
        return 0
    path = given.resume or given.journal or HERE.parents[1] / "build" / "campaign" / f"{given.seed}.jsonl"
    journal = campaign(
        given.steps,
        given.inputs,
        given.kills,
        given.seed,
        given.hours,
        given.jobs,
        given.only,
        given.memory,
        path,
        given.resume is not None,
    )
    summary = journal.summary()
    print(summary)
    path.with_suffix(".md").write_text(summary)
    return 1 if journal.findings else 0
