#!/usr/bin/env python3
"""Writes pictures/*.jpg and pictures.json: small JPEGs, and the pixels that Pillow finds in them.

    python3 tests/reference/pictures.py        (needs numpy and pillow)

Baseline and progressive, with and without halved colors, gray, and one with restart markers and a
second, smaller picture in its header, as cameras put it there.
"""

import io
import json
from pathlib import Path

import numpy as np
from PIL import Image, __version__

HEIGHT, WIDTH = 37, 29
FOLDER = Path(__file__).with_suffix("")
KINDS = {
    "color": {"subsampling": "4:2:0"},
    "full_color": {"subsampling": "4:4:4"},
    "progressive": {"subsampling": "4:2:0", "progressive": True},
    "gray": {},
    "camera": {"subsampling": "4:2:2", "restart_marker_blocks": 2},
}


def encode(image: Image.Image, **settings: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=90, **settings)
    return stream.getvalue()


def main() -> None:
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    red = 128 + 90 * np.sin(rows / 7) * np.cos(columns / 6)
    green = 6 * rows
    blue = 200 - 4 * columns - rows
    pixels = np.stack([red, green, blue], axis=2)
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    FOLDER.mkdir(exist_ok=True)
    found = {}
    for name, settings in KINDS.items():
        kept = image.convert("L") if name == "gray" else image
        jpeg = encode(kept, **settings)
        if name == "camera":
            small = encode(image.resize((8, 8)))
            jpeg = jpeg[:2] + b"\xff\xe1" + (len(small) + 2).to_bytes(2, "big") + small + jpeg[2:]
        (FOLDER / f"{name}.jpg").write_bytes(jpeg)
        decoded = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))
        found[name] = decoded.transpose(2, 0, 1).ravel().tolist()
    reference = {
        "made_with": f"pillow {__version__}",
        "height": HEIGHT,
        "width": WIDTH,
        "pixels": found,
    }
    text = json.dumps(reference, separators=(",", ":")) + "\n"
    Path(__file__).with_suffix(".json").write_text(text)


if __name__ == "__main__":
    main()
