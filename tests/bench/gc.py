#!/usr/bin/env python3
"""How long does `pcae-run gc` take as the cache grows?

Fills a cache with trivial stages, then lists what could go while everything is reached, and deletes
everything after the pipeline has changed. Time per stage should not grow with their number.

    python3 tests/bench/gc.py --program PATH [--stages 1000,3000,10000]

Prints a table and one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from plan import Measured, by_axes


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures garbage collection.")
    parser.add_argument("--program", required=True)
    parser.add_argument("--stages", default="1000,3000,10000", help="counts, with commas")
    given = parser.parse_args()
    found = shutil.which(given.program)
    if found is None:
        sys.exit(f"no program at `{given.program}`")
    program = str(Path(found).absolute())
    rows = []
    print(f"{'stages':>8}{'all kept, s':>13}{'all deleted, s':>16}")
    for stages in map(int, given.stages.split(",")):
        with tempfile.TemporaryDirectory(prefix="gc-") as name:
            folder = Path(name)
            text = by_axes(stages)
            (folder / "pipeline.ron").write_text(text)
            Measured().start([program, "pipeline.ron"], folder)
            kept, deleted = Measured(), Measured()
            kept.start([program, "gc", "pipeline.ron", "--delete"], folder)
            (folder / "pipeline.ron").write_text(text.replace("echo $0", "echo other $0"))
            deleted.start([program, "gc", "pipeline.ron", "--delete"], folder)
            left = sum(1 for _ in (folder / "cache/entries").glob("*/*"))
            if left:
                sys.exit(f"{left} results are left")
        rows.append({"stages": stages, "kept": kept.seconds[0], "deleted": deleted.seconds[0]})
        print(f"{stages:>8}{kept.seconds[0]:>13.2f}{deleted.seconds[0]:>16.2f}", flush=True)
    print(json.dumps({"benchmark": "gc", "cases": rows}))


if __name__ == "__main__":
    main()
