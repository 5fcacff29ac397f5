#!/usr/bin/env python3
"""Reads what `pcae-run results` and `--tensorboard` write with the programs that it is meant for.

Opens the tables of the quickstart in pandas, polars and DuckDB, compares them with the table of its report,
runs the Python in reports/README.md as it stands, and reads the curves with TensorBoard's own reader.

    python3 tests/frames/check.py --program target/release/pcae-run --cache cache --reports reports

Needs pandas, pyarrow, polars, duckdb and tensorboard, and the cache and report of a run of
pipelines/quickstart.ron. Ends with code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from pathlib import Path

import duckdb
import pandas
import polars
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

ROOT = Path(__file__).resolve().parents[2]
PIPELINE = ROOT / "pipelines/quickstart.ron"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--program", "--cache", "--reports"):
        parser.add_argument(name, type=lambda text: Path(text).absolute(), required=True)
    args = parser.parse_args()
    options = ["--cache", args.cache, "--reports", args.reports]

    def call(*words: object) -> None:
        subprocess.run([args.program, *words, *options], check=True, stdout=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for ending in ("parquet", "csv", "json"):
            call("results", PIPELINE, "-o", f"results.{ending}")
            call("results", PIPELINE, "--histories", "-o", f"histories.{ending}")
        check_results(args.reports / "quickstart/intrinsic-dimension.csv")
        check_histories()
        readme = (ROOT / "reports/README.md").read_text()
        code = re.search(r"```python\n(.*?)```", readme, re.S)[1]
        exec(compile(code, "reports/README.md", "exec"), {})
        call(PIPELINE, "--tensorboard", "curves")
        check_curves(Path("curves"))
    print("tables and curves agree")


def check_results(table: Path) -> None:
    """Means of runs are the numbers of the report; every reader sees the same rows, to the last bit where
    it is asked not to read numbers in a hurry."""
    frame = pandas.read_parquet("results.parquet")
    assert frame["value"].dtype == "float64" and frame["index"].dtype.kind in "fi", frame.dtypes
    for other in (
        pandas.read_csv(
            "results.csv", dtype={"seed": str, "text": object, "unit": object}, float_precision="round_trip"
        ),
        pandas.read_json("results.json", dtype={"seed": str}, convert_axes=False, precise_float=True),
        polars.read_parquet("results.parquet").to_pandas(),
        polars.read_csv("results.csv", schema_overrides={"seed": polars.String}).to_pandas(),
        duckdb.sql("from 'results.parquet'").df(),
    ):
        # Fields of a JSON object have no order.
        assert sorted(other.columns) == sorted(frame.columns), other.columns
        assert other["value"].equals(frame["value"]), "values"
        assert other["stage"].equals(frame["stage"]) and other["seed"].equals(frame["seed"]), "stages"
    ours = frame[frame["field"] == "dimension"].groupby("model")["value"].mean()
    printed = pandas.read_csv(table)
    printed = printed[printed["value"] == "dimension"]
    assert len(printed) == 3, printed
    for model, mean in zip(printed["model"], printed["mean"]):
        assert abs(ours[model] - mean) < 1e-9, (model, ours[model], mean)


def check_histories() -> None:
    frame = pandas.read_parquet("histories.parquet")
    again = duckdb.sql("from read_csv('histories.csv') where field = 'total'").df()
    total = frame[frame["field"] == "total"].reset_index(drop=True)
    assert again["value"].equals(total["value"]) and again["epoch"].equals(total["epoch"]), "curves"
    for stage, curve in total.groupby("stage"):
        assert list(curve["epoch"]) == list(range(1, len(curve) + 1)), stage
        assert curve["value"].iloc[-1] < curve["value"].iloc[0], stage


def check_curves(folder: Path) -> None:
    """Scalars are those of the histories, rounded to 32 bits."""
    frame = pandas.read_parquet("histories.parquet")
    stages = sorted(path.name for path in folder.iterdir())
    assert stages == sorted(frame["stage"].unique()), stages
    for stage in stages:
        events = EventAccumulator(str(folder / stage))
        events.Reload()
        for tag in ("total", "variance/1"):
            own = frame[(frame["stage"] == stage) & (frame["field"] == tag.replace("/", "_"))]
            scalars = events.Scalars(tag)
            assert [scalar.step for scalar in scalars] == list(own["epoch"]), (stage, tag)
            for scalar, value in zip(scalars, own["value"]):
                assert abs(scalar.value - value) <= 1e-6 * abs(value), (stage, tag, scalar)


if __name__ == "__main__":
    main()
