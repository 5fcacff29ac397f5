#!/usr/bin/env python3
"""Reads originals at their full size: right pixels, bounded memory.

Writes 3dshapes.h5 (480,000 images of 64 x 64 x 3), and dSprites as npz and as HDF5 (737,280 images of
64 x 64), in the layouts of the originals, by h5py and NumPy, with patterns of each row's number for
content. Then the paper's subset and the whole set are taken through pcae-run; subsets are compared
with NumPy's, and the peak of the process that reads is printed.

    python3 tests/real/full_size.py --program target/release/pcae-run [--whole]

Needs numpy, h5py, 2 GB of disk (11 GB with --whole). Ends with code 1 if pixels or factors differ, or
if memory reaches 1.5 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np

MOST_BYTES = 1_500_000_000
BLOCK = 7680
SPRITES = [1, 3, 6, 40, 32, 32]
ROOMS = [10, 10, 10, 8, 4, 15]
NAME = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
SUBSETS = {
    "3dshapes": '"floor_hue": Levels(0, 4), "wall_hue": Levels(0, 4), "object_hue": Levels(0, 4), '
                '"shape": Values([0])',
    "dsprites": '"shape": Values([2]), "orientation": Levels(0, 14)',
}


def levels(counts: list[int], values: list[np.ndarray]) -> np.ndarray:
    """Returns the factors of every row, the last one fastest."""
    places = np.indices(counts).reshape(len(counts), -1)
    return np.stack([value[place] for value, place in zip(values, places)], axis=1)


def sprites(rows: np.ndarray) -> np.ndarray:
    """Returns 64 x 64 zeros and ones that no other row has: its number in 20 columns."""
    images = np.zeros((len(rows), 64, 64), np.uint8)
    images[:, 10:50, 5:25] = (rows[:, None, None] >> np.arange(20)[None, None, :]) & 1
    return images


def rooms(rows: np.ndarray) -> np.ndarray:
    """Returns 64 x 64 x 3 bytes: the row's number in three bytes, one a channel."""
    channels = np.stack([rows & 255, (rows >> 8) & 255, rows >> 16], axis=1).astype(np.uint8)
    return np.broadcast_to(channels[:, None, None, :], (len(rows), 64, 64, 3))


def write_h5(path: Path, images: str, factors: str, content, values: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        shape = (len(values), *content(np.zeros(1, int)).shape[1:])
        data = file.create_dataset(images, shape, np.uint8, compression="gzip", chunks=True)
        band = data.chunks[0]
        for start in range(0, len(values), band):
            rows = np.arange(start, min(start + band, len(values)))
            data[start : start + band] = content(rows)
        file.create_dataset(factors, data=values, compression="gzip")


def write_npz(path: Path, values: np.ndarray) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        with archive.open("imgs.npy", "w", force_zip64=True) as member:
            header = {"descr": "|u1", "fortran_order": False, "shape": (len(values), 64, 64)}
            np.lib.format.write_array_header_1_0(member, header)
            for start in range(0, len(values), BLOCK):
                member.write(sprites(np.arange(start, start + BLOCK)).tobytes())
        for name, array in [("latents_values", values), ("latents_classes", values.astype(int))]:
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array)


def take(program: Path, folder: Path, source: str, file: Path, select: str) -> tuple[Path, int, float]:
    """Runs a pipeline of one data set; returns its files, the peak memory and the seconds."""
    pipeline = folder / "pipeline.ron"
    pipeline.write_text(f'''Pipeline(name: "full", stages: {{
        "images": Dataset(source: {source}(Original), path: "{file.name}", select: {{{select}}}),
    }})''')
    base = [program, "--cache", folder / "cache"]
    subprocess.run([*base, pipeline, "--data", folder], check=True, stderr=subprocess.DEVNULL)
    runs = []
    for entry in (folder / "cache/entries").rglob("*.json"):
        runs.append((entry.stat().st_mtime, json.loads(entry.read_text())["run"]))
    run = max(runs, key=lambda pair: pair[0])[1]
    target = folder / "out"
    subprocess.run(["rm", "-rf", target], check=True)
    subprocess.run([*base, "export", "images", target, pipeline, "--data", folder], check=True,
                   stdout=subprocess.DEVNULL)
    return target, run["peak_memory"], run["seconds"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--whole", action="store_true", help="read the whole sets too")
    given = parser.parse_args()
    program = given.program.resolve()
    hues = np.arange(10) / 10
    turns = np.linspace(0, 2 * np.pi, 40)
    places = np.linspace(0, 1, 32)
    sprite_values = levels(SPRITES, [np.ones(1), np.arange(1.0, 4), np.linspace(0.5, 1, 6), turns,
                                     places, places])
    room_values = levels(ROOMS, [hues, hues, hues, np.linspace(0.75, 1.25, 8), np.arange(4.0),
                                 np.linspace(-30, 30, 15)])
    is_sprite = (sprite_values[:, 1] == 2) & (sprite_values[:, 3] <= turns[14])
    is_room = (room_values[:, :3] < 0.45).all(axis=1) & (room_values[:, 4] == 0)
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shapes, npz, hdf5 = (folder / name for name in ["3dshapes.h5", f"{NAME}.npz", f"{NAME}.hdf5"])
        write_h5(shapes, "images", "labels", rooms, room_values)
        write_npz(npz, sprite_values)
        write_h5(hdf5, "imgs", "latents/values", sprites, sprite_values)
        cases = [
            ("3dshapes", "Shapes3d", shapes, is_room, room_values,
             lambda rows: rooms(rows).transpose(0, 3, 1, 2)),
            ("dsprites", "Dsprites", npz, is_sprite, sprite_values,
             lambda rows: 255 * sprites(rows)[:, None]),
            ("dsprites", "Dsprites", hdf5, is_sprite, sprite_values,
             lambda rows: 255 * sprites(rows)[:, None]),
        ]
        for name, source, file, chosen, values, expected in cases:
            whole = [("whole set", "", np.arange(len(values)))] if given.whole else []
            for what, select, rows in [("subset", SUBSETS[name], np.flatnonzero(chosen)), *whole]:
                out, memory, seconds = take(program, folder, source, file, select)
                images = np.load(out / "images.npy", mmap_mode="r")
                same = len(images) == len(rows) and np.array_equal(
                    np.load(out / "factors.npy"), values[rows].astype(np.float32))
                for start in range(0, len(rows), BLOCK):
                    part = expected(rows[start : start + BLOCK])
                    same = same and np.array_equal(images[start : start + BLOCK], part)
                good = same and memory < MOST_BYTES
                wrong += not good
                print(f"{file.name} ({file.stat().st_size / 1e6:.0f} MB), {what} of {len(rows)}: "
                      f"{'equal' if same else 'DIFFERENT'}, {seconds:.1f} s, "
                      f"peak {memory / 1e6:.0f} MB{'' if good else '  WRONG'}", flush=True)
                del images
            subprocess.run(["rm", "-rf", folder / "cache", folder / "out"], check=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
