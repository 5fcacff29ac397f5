#!/usr/bin/env python3
"""Sets our estimators beside scikit-dimension's on the same points of its 24 benchmark shapes.

Runs pipelines/estimators.ron, takes the points of each shape out of the cache, and lets
scikit-dimension estimate them.

    python3 tests/real/estimators.py --program target/release/pcae-run [--shapes M1_Sphere,M7_Roll]

Needs scikit-dimension 0.5.0. Prints both numbers for each shape and estimator. Ends with code 1 if
they differ by more than 0.0001 of themselves.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from skdim.id import MLE, MOM, CorrInt, TwoNN, lPCA

PIPELINE = Path(__file__).resolve().parents[2] / "pipelines/estimators.ron"
TOLERANCE = 1e-4


def by_likelihood(unbiased: bool, comb: str):
    return lambda points: MLE(unbiased=unbiased).fit(points, n_neighbors=20, comb=comb).dimension_


PEERS = {
    "pope": by_likelihood(True, "mle"),
    "mackay": by_likelihood(False, "mle"),
    "levina": by_likelihood(False, "mean"),
    "two-nn": lambda points: TwoNN().fit(points).dimension_,
    "local-pca": lambda points: np.mean(lPCA().fit_transform_pw(points, n_neighbors=50)),
    "correlation": lambda points: CorrInt().fit(points).dimension_,
    "moments": lambda points: MOM().fit(points, n_neighbors=20).dimension_,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--shapes", help="names of shapes, with commas between; all if left out")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    warnings.simplefilter("ignore")
    named = re.findall(r'^ +"(M\w+)": ', PIPELINE.read_text(), re.MULTILINE)
    # Shapes stand in the axis and again among the titles.
    shapes = list(dict.fromkeys(named))
    shapes = arguments.shapes.split(",") if arguments.shapes else shapes
    worst = 0.0
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        cache = ["--cache", work / "cache"]
        run = [program, PIPELINE, *cache, "--reports", work / "reports"]
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

        def exported(stage: str, file: str) -> Path:
            args = [program, "export", stage, work / stage, PIPELINE, *cache]
            subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
            return work / stage / file

        print(f"{'ours / theirs':<20}" + "".join(f"{name:>17}" for name in PEERS))
        for shape in shapes:
            points = np.load(exported(f"points-{shape}", "points.npy")).astype(float)
            cells = []
            for name, peer in PEERS.items():
                record = exported(f"dimension-{shape}-{name}", "record.json")
                ours, theirs = json.loads(record.read_text())["dimension"], float(peer(points))
                worst = max(worst, abs(ours - theirs) / max(abs(theirs), 1.0))
                cells.append(f"{ours:8.3f} /{theirs:7.3f}")
            print(f"{shape:<20}" + "".join(cells), flush=True)
    print(f"largest relative difference: {worst:.1e}")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
