"""Draw mutants, try them and print the score: `python -m tools.mutate --count 100 --seed 0 --jobs 2`."""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict

from tools.mutate.mutants import Mutant, draw, equivalents
from tools.mutate.recording import ROOT, STATE, Recording, digest, record, test_files
from tools.mutate.trial import Outcome, Workshop

TARGET = 0.97
RESULTS = STATE / "results.json"


class Results:
    """Outcomes on disk: a kill is valid while its source and test are unchanged, a survival while all tests are."""

    def __init__(self) -> None:
        self.stored: dict[str, dict] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        self.all_tests = digest(*test_files())

    def _stamp(self, mutant: Mutant, outcome: Outcome) -> str:
        killer = ROOT / outcome.by.split("::")[0]
        tests = digest(killer) if outcome.status == "killed" and killer.is_file() else self.all_tests
        return f"{digest(ROOT / mutant.file)} {tests}"

    def get(self, mutant: Mutant) -> Outcome | None:
        entry = self.stored.get(mutant.key)
        if entry is None:
            return None
        outcome = Outcome(**entry["outcome"])
        return outcome if entry["stamp"] == self._stamp(mutant, outcome) and outcome.status != "error" else None

    def put(self, mutant: Mutant, outcome: Outcome) -> None:
        self.stored[mutant.key] = {"outcome": asdict(outcome), "stamp": self._stamp(mutant, outcome)}
        part = RESULTS.with_suffix(".part")
        part.write_text(json.dumps(self.stored, indent=1, ensure_ascii=False), encoding="utf-8")
        part.replace(RESULTS)


def try_all(mutants: list[Mutant], recording: Recording, jobs: int, done: dict[str, Outcome]) -> None:
    """Fill `done` with the outcome of every mutant, stored outcomes first; after Ctrl-C `done` holds a part."""
    results = Results()
    for mutant in mutants:
        if (stored := results.get(mutant)) is not None:
            done[mutant.key] = stored
    left = [mutant for mutant in mutants if mutant.key not in done]
    if done:
        print(f"{len(done)} of {len(mutants)} mutants are known from an earlier run")
    start, workshop = time.monotonic(), Workshop(recording, min(jobs, len(left)))
    pool = ThreadPoolExecutor(max(1, jobs))
    try:
        for n, future in enumerate(as_completed({pool.submit(_tried, workshop, mutant) for mutant in left}), 1):
            mutant, outcome = future.result()
            done[mutant.key] = outcome
            results.put(mutant, outcome)
            rest = (time.monotonic() - start) / n * (len(left) - n) / 60
            line = f"{outcome.status:8}  {mutant.file}:{mutant.change.line}"
            print(f"{n}/{len(left)}  {line}  {rest:.0f} min left", flush=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        workshop.close()
        pool.shutdown()


def _tried(workshop: Workshop, mutant: Mutant) -> tuple[Mutant, Outcome]:
    return mutant, workshop.trial(mutant)


def report(mutants: list[Mutant], outcomes: dict[str, Outcome]) -> bool:
    """Print the survivors and the score; return whether the target is met."""
    known, counts = equivalents(), dict.fromkeys(("killed", "timeout", "survived", "equivalent", "error"), 0)
    for mutant in mutants:
        outcome = outcomes.get(mutant.key)
        if outcome is None:
            continue
        reason = known.get((mutant.file, mutant.before, mutant.after))
        status = "equivalent" if outcome.status == "survived" and reason else outcome.status
        counts[status] += 1
        if status in ("survived", "timeout", "error"):
            print(f"\n{status}: {mutant}\n  {outcome.by or f'{outcome.tests} tests'}")
        elif status == "equivalent":
            print(f"\nequivalent: {mutant}\n  {reason}")
    judged = counts["killed"] + counts["timeout"] + counts["survived"]
    score = (counts["killed"] + counts["timeout"]) / judged if judged else 0.0
    print(
        f"\n{sum(counts.values())} of {len(mutants)} mutants tried: " + ", ".join(f"{n} {k}" for k, n in counts.items())
    )
    print(f"score {100 * score:.1f} % (target {100 * TARGET:.0f} %)")
    return score >= TARGET and sum(counts.values()) == len(mutants) and not counts["error"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many mutants to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants to try at once")
    parser.add_argument("--list", action="store_true", help="print the draw and stop")
    arguments = parser.parse_args()
    STATE.mkdir(exist_ok=True)
    mutants: list[Mutant] = []
    outcomes: dict[str, Outcome] = {}
    try:
        recording = record(arguments.jobs)
        mutants = draw(recording, arguments.count, arguments.seed)
        if arguments.list:
            print("\n".join(map(str, mutants)))
            return 0
        try_all(mutants, recording, arguments.jobs, outcomes)
    except KeyboardInterrupt:
        print("stopped; run the same command again to resume", file=sys.stderr)
        report(mutants, outcomes)
        return 130
    return 0 if report(mutants, outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
