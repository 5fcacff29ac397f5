"""Writes interpolation.json: codes of which only some coordinates vary, by NumPy.

Codes are turned to the principal axes of other codes (of the training samples) by a full rotation,
the coordinates left out get their mean or 0, and the result is turned back.

Run with numpy 2: python3 tests/reference/interpolation.py > tests/reference/interpolation.json
"""

import json

import numpy as np

WIDTH = 4
PAIRS = [(0, 5), (3, 1), (6, 2)]
IMAGES = 4

random = np.random.default_rng(5)
mixing = random.normal(size=(WIDTH, WIDTH))


def drawn(count):
    """Correlated codes that are not centered."""
    codes = random.normal(size=(count, WIDTH)) * [3.0, 1.5, 0.7, 0.2] @ mixing + [1.0, -2.0, 0.5, 3.0]
    return codes.astype(np.float32).astype(float)


training, codes = drawn(40), drawn(7)
scores = np.array([0.5, 4.0, 0.1, 2.0])  # in another order than the variances
order = np.argsort(-scores, kind="stable")
values, vectors = np.linalg.eigh(np.cov(training.T, bias=True))
rotations = {True: vectors[:, np.argsort(-values)], False: np.eye(WIDTH)}


def expected(k, others, principal):
    rotation = rotations[principal]
    turned = codes @ rotation
    base = turned.mean(axis=0) if others == "Mean" else np.zeros(WIDTH)
    rows = []
    for start, end in PAIRS:
        for share in np.linspace(0.0, 1.0, IMAGES):
            between = (1.0 - share) * turned[start] + share * turned[end]
            kept = base.copy()
            kept[order[:k]] = between[order[:k]]
            rows.append(rotation @ kept)
    return np.array(rows)


cases = [
    {
        "between": {"Rows": {"pairs": PAIRS, "images": IMAGES}},
        "k": k,
        "others": others,
        "principal": principal,
        "expected": expected(k, others, principal).ravel().round(7).tolist(),
    }
    for principal in [False, True]
    for others in ["Mean", "Zero"]
    for k in [1, 2, 3, 4]
]
print(
    json.dumps(
        {
            "width": WIDTH,
            "training_codes": training.ravel().tolist(),
            "scores": scores.tolist(),
            "codes": codes.ravel().tolist(),
            "cases": cases,
        }
    )
)
