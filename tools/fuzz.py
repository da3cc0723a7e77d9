"""Search at random for records that a property test does not hold for.

``python tools/fuzz.py --minutes 60`` runs all property tests of ``tests`` again and again, each
time with another seed. It prints the seeds, each failing example and the command that repeats it;
a test that has failed is left out from then on. It ends with 1 if anything failed, also when
Ctrl-C ends the search before its time.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import shlex
import subprocess
import sys
import time

PYTEST = ["-m", "pytest", "-q"]
PASSED, FAILED, UNABLE = 0, 1, 2


def main() -> int:
    """Search for so many minutes; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to search")
    parser.add_argument("--workers", type=int, default=1, help="how many processes search")
    parser.add_argument("tests", nargs="*", default=["tests"], help="files, folders or tests")
    given = parser.parse_args()
    if not 0 < given.minutes < float("inf"):
        parser.error(f"--minutes {given.minutes:g}: a number above 0 is wanted")
    if given.workers < 1:
        parser.error(f"--workers {given.workers}: 1 or more are wanted")
    return search(given.minutes, given.workers, given.tests)


def search(minutes: float, workers: int, where: list[str]) -> int:
    """Run rounds until the time is over; a round that has begun is finished."""
    code, output = _run([*PYTEST, "-m", "hypothesis", "--collect-only", *where])
    tests = [line for line in output.splitlines() if "::" in line]
    if code != PASSED or not tests:
        print(output + "No property tests were found", file=sys.stderr)
        return UNABLE
    print(f"{len(tests)} property tests for {minutes:g} minutes", flush=True)
    began = time.monotonic()
    repeats: dict[str, str] = {}
    rounds = 0
    with contextlib.suppress(KeyboardInterrupt):
        while tests and (passed := (time.monotonic() - began) / 60) < minutes:
            seed = secrets.randbelow(1 << 32)
            print(f"{passed:6.1f} min: round {rounds + 1}, seed {seed}", flush=True)
            by_seed = [*PYTEST, "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}"]
            side_by_side = ["-n", str(workers)] if workers > 1 else []
            code, output = _run([*by_seed, *side_by_side, "--tb=short", *tests])
            failed = [test for test in tests if _says(output, test)]
            if code != PASSED:
                print(output)
            if code != PASSED and not (code == FAILED and failed):
                print(f"pytest ended with {code}: the tests could not be run", file=sys.stderr)
                return UNABLE
            for test in failed:
                repeats[test] = shlex.join([sys.executable, *by_seed, test])
                print(f"To repeat it:\n  {repeats[test]}\n", flush=True)
            tests = [test for test in tests if test not in failed]
            rounds += 1
    print(f"{rounds} rounds in {(time.monotonic() - began) / 60:.1f} min, {len(repeats)} failures")
    for test, command in repeats.items():
        print(f"{test}\n  {command}")
    return FAILED if repeats else PASSED


def _says(output: str, test: str) -> bool:
    """Whether pytest's summary says that the test failed."""
    line = f"FAILED {test}"
    return any(one == line or one.startswith(f"{line} - ") for one in output.splitlines())


def _run(arguments: list[str]) -> tuple[int, str]:
    """Run Python; return its exit code and all that it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main())
