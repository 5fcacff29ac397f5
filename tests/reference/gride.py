"""Writes gride.json: the dimension from scale to scale by dadapy's Gride, on points written as whole
numbers so that both programs read exactly the same.

    pip install dadapy==0.3.4 numpy==1.26.4
    python tests/reference/gride.py
"""

import json
import pathlib

import numpy as np
from dadapy import Data

SCALE = 100_000
RANKS = 64


def cases(rng):
    angle = rng.uniform(0, 3 * np.pi, 300)
    height = rng.uniform(0, 10, 300)
    roll = np.stack([angle * np.cos(angle), height, angle * np.sin(angle)], axis=1)
    return {
        "normal": rng.normal(size=(200, 4)),
        "roll": roll + rng.normal(scale=0.05, size=roll.shape),
    }


def main():
    written = []
    for name, points in cases(np.random.default_rng(0)).items():
        whole = np.round(points * SCALE).astype(int)
        # The other program reads single precision.
        read = (whole.astype(np.float32) / np.float32(SCALE)).astype(np.float64)
        data = Data(read, maxk=len(read) - 1)
        dimensions, spreads, distances = data.return_id_scaling_gride(range_max=RANKS)
        written.append({
            "name": name,
            "width": whole.shape[1],
            "points": whole.flatten().tolist(),
            "dimensions": list(map(float, dimensions)),
            "spreads": list(map(float, spreads)),
            "distances": list(map(float, distances)),
        })
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps({"scale": SCALE, "cases": written}) + "\n")


main()
