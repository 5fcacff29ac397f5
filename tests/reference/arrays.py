"""Small arrays and tables as NumPy, polars and PyArrow write them, for the readers in src/data.

Run from the repository root with NumPy 2.4, polars 2.1 and PyArrow 26:
    python tests/reference/arrays.py
Every value follows from its place, so the tests know what to expect without a second file.
"""
import decimal
import pathlib

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path("tests/reference/arrays")


def dsprites():
    """Two of each factor but color, in the layout of the original archive."""
    sizes = (1, 3, 2, 2, 2, 2)
    values = [np.ones(1), np.arange(1.0, 4.0), np.array([0.5, 1.0]), np.array([0.0, 2 * np.pi]),
              np.array([0.0, 1.0]), np.array([0.0, 1.0])]
    classes = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    factors = np.stack([v[c] for v, c in zip(values, classes.T)], axis=1)
    images = np.zeros((len(classes), 64, 64), np.uint8)
    for index, image in enumerate(images):
        image[index, : index + 1] = 1  # image i: the first i + 1 pixels of row i
    metadata = np.array({"author": "nobody", "latents_sizes": sizes}, dtype=object)
    arrays = dict(imgs=images, latents_values=factors, latents_classes=classes.astype(np.int64),
                  metadata=metadata)
    np.savez_compressed(FOLDER / "dsprites.npz", **arrays)


def arrays():
    grid = np.arange(12).reshape(3, 4)
    np.save(FOLDER / "vectors_f8.npy", grid / 8 - 0.5)
    np.save(FOLDER / "vectors_f4_big_endian.npy", (grid / 8 - 0.5).astype(">f4"))
    np.save(FOLDER / "vectors_i2.npy", (grid - 6).astype(np.int16))
    np.save(FOLDER / "fortran.npy", np.asfortranarray(grid.astype(np.float32)))
    images = np.arange(24).reshape(2, 3, 4).astype(np.int16)
    np.savez_compressed(FOLDER / "fortran.npz", images=np.asfortranarray(images))
    np.save(FOLDER / "objects.npy", np.array([1, "two", None], dtype=object))
    np.save(FOLDER / "structured.npy", np.zeros(3, dtype=[("x", "<f4"), ("y", "<i4")]))
    np.save(FOLDER / "half.npy", grid.astype(np.float16))
    broken = (grid / 8).astype(np.float32)
    broken[2, 1] = np.nan
    np.save(FOLDER / "nan.npy", broken)
    np.save(FOLDER / "empty.npy", np.zeros((0, 4), np.float32))
    # Pixel values are 10 * image + 100 * channel + place in the image.
    image, row, column, channel = np.indices((4, 2, 3, 2))
    pixels = (10 * image + 100 * channel + 3 * row + column).astype(np.uint8)
    labels = np.array([7, -1, 7, 3])
    np.savez(FOLDER / "images.npz", nhwc=pixels, nchw=pixels.transpose(0, 3, 1, 2).copy(),
             labels=labels)
    np.savez_compressed(FOLDER / "packed.npz", gray=pixels[..., 0], labels=labels)
    np.save(FOLDER / "unit.npy", (pixels[..., 0] / 255).astype(np.float32))
    np.save(FOLDER / "symmetric.npy", pixels[..., 0] / 127.5 - 1)


def tables():
    table = pl.DataFrame({
        "x": [0.5, 1.5, -2.0, 4.0],
        "count": [3, 1, 4, 1],
        "kind": ["dog", "cat", "dog", "bee"],
        "angle": [0.0, 90.0, 180.0, 270.0],
    })
    table.write_csv(FOLDER / "table.csv")
    table.write_parquet(FOLDER / "table.parquet", statistics=False)
    table.with_columns(pl.col("x").replace(-2.0, None)).write_parquet(
        FOLDER / "null.parquet", statistics=False)
    kinds()
    # Numbers of 32 and 64 bits, packed in every way, written by the other usual writer.
    columns = {"i32": np.int32, "i64": np.int64, "u32": np.uint32, "u64": np.uint64,
               "f32": np.float32, "f64": np.float64}
    columns = {name: np.ones(2, kind) for name, kind in columns.items()}
    columns["i64"][0] = -2
    typed = pa.table(columns)
    for packing in ["snappy", "zstd", "gzip", "lz4", "none"]:
        pq.write_table(typed, FOLDER / f"types_{packing}.parquet", compression=packing,
                       write_statistics=False, store_schema=False)


def kinds():
    """60 rows with a column of every type that people keep beside their numbers."""
    rows = np.arange(60)
    start = np.datetime64("2024-03-01T08:00", "us")
    columns = {
        "id": pa.array(1000 + rows),
        "wide": pa.array(np.sin(rows * 0.7) * 40),
        "narrow": pa.array(np.cos(rows * 0.7).astype(np.float32)),
        "gaps": pa.array([None if row % 20 == 3 else row * row % 17 / 4 for row in rows.tolist()]),
        "size": pa.array(["small", "large"] * 30).dictionary_encode(),
        "zone": pa.array(["n", "e", "s", "w"] * 15).dictionary_encode(),
        "code": pa.array((rows % 3).astype(np.int64)).dictionary_encode(),
        "when": pa.array(start + rows.astype("timedelta64[h]")),
        "zoned": pa.array(start + rows.astype("timedelta64[h]"), pa.timestamp("us", tz="UTC")),
        "day": pa.array(rows.astype(np.int32), pa.int32()).cast(pa.date32()),
        "clock": pa.array(rows.astype(np.int32), pa.int32()).cast(pa.time32("s")),
        "took": pa.array(rows.astype("timedelta64[s]")),
        "good": pa.array((rows % 7 > 2).tolist()),
        "price": pa.array([decimal.Decimal(row) / 4 for row in rows.tolist()], pa.decimal128(9, 2)),
        "half": pa.array(rows.astype(np.float16)),
        "raw": pa.array([bytes([row]) for row in rows.tolist()]),
        "list": pa.array([[row, row + 1] for row in rows.tolist()]),
        "pair": pa.array([{"a": row, "b": "x"} for row in rows.tolist()]),
        "name": pa.array([f"sample {row}" for row in rows.tolist()]),
        "nothing": pa.nulls(60),
    }
    pq.write_table(pa.table(columns), FOLDER / "kinds.parquet", compression="zstd",
                   write_statistics=False)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    dsprites()
    arrays()
    tables()
