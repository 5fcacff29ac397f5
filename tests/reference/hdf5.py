"""Writes tiny HDF5 files in the layout of the original 3DShapes and dSprites files.

Keys, element types, chunks that cut images in all directions, gzip: as in the originals, but with
a handful of rows. Pixels and labels follow formulas that the Rust tests repeat.

    python hdf5.py        # needs h5py and numpy; made with h5py 3.16.0, HDF5 2.0.0
"""

from pathlib import Path

import h5py
import numpy as np

FOLDER = Path(__file__).parent
ROWS = 6


def shapes3d(name, libver, **filters):
    n, row, column, channel = np.ogrid[:ROWS, :64, :64, :3]
    images = ((50 * n + row + 3 * (column // 4) + 80 * channel) % 256).astype(np.uint8)
    n, factor = np.ogrid[:ROWS, :6]
    labels = (n + 0.125 * factor).astype(np.float64)
    with h5py.File(FOLDER / name, "w", libver=libver) as file:
        file.create_dataset(
            "images", data=images, chunks=(4, 16, 16, 1), compression="gzip", **filters
        )
        file.create_dataset("labels", data=labels, chunks=(4, 1), compression="gzip", **filters)


def dsprites(name, libver):
    n, row, column = np.ogrid[:ROWS, :64, :64]
    images = ((row + column // 8 + n) % 2).astype(np.uint8)
    n, factor = np.ogrid[:ROWS, :6]
    values = (n + 0.125 * factor).astype(np.float64)
    classes = (n * factor).astype(np.int64)
    with h5py.File(FOLDER / name, "w", libver=libver) as file:
        file.create_dataset("imgs", data=images, chunks=(4, 16, 32), compression="gzip")
        latents = file.create_group("latents")
        latents.create_dataset("classes", data=classes, chunks=(4, 1), compression="gzip")
        latents.create_dataset("values", data=values, chunks=(4, 1), compression="gzip")


def tables(name):
    """Small tables with mistakes, for messages: `fewer` lacks a row, `unknown` holds a NaN."""
    n, row, column = np.ogrid[:5, :2, :3]
    images = (10 * n + 3 * row + column).astype(np.uint8)
    n, factor = np.ogrid[:5, :2]
    factors = (n + 0.5 * factor).astype(np.float64)
    unknown = factors.copy()
    unknown[3, 1] = np.nan
    with h5py.File(FOLDER / name, "w") as file:
        file["images"] = images
        file.create_dataset("chunked", data=images, chunks=(2, 2, 2), compression="gzip")
        file["group/factors"] = factors
        file["group/fewer"] = factors[:4]
        file["group/unknown"] = unknown


if __name__ == "__main__":
    shapes3d("shapes3d_earliest.h5", "earliest")
    shapes3d("shapes3d_latest.h5", "latest", shuffle=True)
    dsprites("dsprites_earliest.h5", "earliest")
    tables("tables.h5")
