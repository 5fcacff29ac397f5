#!/usr/bin/env python3
"""Writes resize.json: one random gray image and what Pillow makes of it.

    python3 tests/reference/resize.py        (needs numpy and pillow)

The image is half smooth, half noise, with black and white pixels, so that the overshoot of Lanczos
is cut off at both ends. Sizes: smaller and larger, by whole numbers and not, changed on one side.
"""

import json
from pathlib import Path

import numpy as np
from PIL import Image, __version__

HEIGHT, WIDTH = 47, 40
SIZES = [(21, 16), (47, 20), (16, 40), (64, 64), (1, 1)]
FILTERS = {
    "Nearest": Image.Resampling.NEAREST,
    "Box": Image.Resampling.BOX,
    "Bilinear": Image.Resampling.BILINEAR,
    "Lanczos": Image.Resampling.LANCZOS,
}


def main() -> None:
    random = np.random.default_rng(7)
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    smooth = 127 + 120 * np.sin(rows / 6) * np.cos(columns / 5)
    noise = random.choice([0, 255, 40, 200, 128], size=(HEIGHT, WIDTH))
    pixels = np.where(columns < WIDTH // 2, smooth, noise).astype(np.uint8)
    image = Image.fromarray(pixels)
    cases = [
        {
            "filter": name,
            "height": height,
            "width": width,
            "pixels": np.asarray(image.resize((width, height), method)).ravel().tolist(),
        }
        for name, method in FILTERS.items()
        for height, width in SIZES
    ]
    reference = {
        "made_with": f"pillow {__version__}",
        "height": HEIGHT,
        "width": WIDTH,
        "pixels": pixels.ravel().tolist(),
        "cases": cases,
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(reference, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
