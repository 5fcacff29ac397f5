#!/usr/bin/env python3
"""How fast are CelebA-sized JPEGs read out of a zip, decoded, cropped and scaled, beside Pillow?

Writes a zip archive of synthetic pictures in the layout of CelebA (178 x 218, quality 90, 4:2:0, of
about 7.7 kB each; the originals have 7.1 kB), then lets both sides do the same work: read a member,
decode it, cut 140 x 140 out of the middle, scale that to 64 x 64 by Lanczos, keep the result.

Ours is the whole command: its start, the list of pictures, and the result on disk. The peers run
with as many processes as there are cores; their start is not counted, nor is a file written.
Peers: Pillow, in this Python and in every further one that is named, for instance one with
pillow-simd. Where simplejpeg is installed, it decodes (libjpeg-turbo without Pillow's overhead) and
Pillow does the rest; this is shown, but no tool does it, so nothing hangs on it.

    python3 tests/bench/decode.py --program PATH [--python OTHER ...] [--images 5000] [--rounds 5]

Needs numpy and pillow. Prints a table and one line of JSON. Ends with code 1 if ours reaches less
than 0.9 of the speed of the fastest Pillow, or if results differ by more than rounding does.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import PIL
from PIL import Image

WANTED_RATIO = 0.9
HEIGHT, WIDTH, CROP, SIZE = 218, 178, 140, 64
BOX = ((WIDTH - CROP) // 2, (HEIGHT - CROP) // 2, (WIDTH + CROP) // 2, (HEIGHT + CROP) // 2)
MEMBER = "img_align_celeba/{:06d}.jpg"
PIPELINE = """Pipeline(name: "decode", stages: {
    "faces": Dataset(source: CelebA(), path: "celeba",
                     steps: [Crop(140), Resize(size: 64, filter: Lanczos)]),
})
"""


def picture(random: np.random.Generator) -> bytes:
    """Returns a JPEG of smooth shapes of several sizes and a little noise."""
    pixels = np.full((HEIGHT, WIDTH, 3), 120.0)
    for cells, strength in ((4, 70), (9, 35), (20, 16), (40, 5)):
        coarse = random.normal(size=(cells + 1, cells, 3))
        # Colors of photographs mostly go up and down together.
        coarse = 0.35 * coarse + 1.2 * coarse.mean(axis=2, keepdims=True)
        for channel in range(3):
            plane = Image.fromarray(coarse[:, :, channel].astype(np.float32))
            fine = plane.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
            pixels[:, :, channel] += strength * np.asarray(fine)
    pixels += 0.5 * random.normal(size=(HEIGHT, WIDTH, 1))
    stream = io.BytesIO()
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    image.save(stream, "JPEG", quality=90, subsampling="4:2:0")
    return stream.getvalue()


def write_faces(folder: Path, images: int) -> None:
    """Writes the archive and the partition file."""
    folder.mkdir()
    random = np.random.default_rng(0)
    path = folder / "img_align_celeba.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(1, images + 1):
            archive.writestr(MEMBER.format(number), picture(random))
    lines = "".join(f"{number:06d}.jpg 0\r\n" for number in range(1, images + 1))
    (folder / "list_eval_partition.txt").write_text(lines, newline="")


def by_pillow(jpeg: bytes) -> np.ndarray:
    image = Image.open(io.BytesIO(jpeg)).crop(BOX)
    return np.asarray(image.resize((SIZE, SIZE), Image.Resampling.LANCZOS))


def by_simplejpeg(jpeg: bytes) -> np.ndarray:
    import simplejpeg

    image = Image.fromarray(simplejpeg.decode_jpeg(jpeg)).crop(BOX)
    return np.asarray(image.resize((SIZE, SIZE), Image.Resampling.LANCZOS))


WAYS = {"Pillow": by_pillow, "simplejpeg, Pillow": by_simplejpeg}


def work(way: str, path: str, memory: str, images: int, first: int, last: int) -> None:
    """Does the work for a range of pictures, in a process of its own."""
    block = shared_memory.SharedMemory(memory)
    faces = np.ndarray((images, SIZE, SIZE, 3), np.uint8, block.buf)
    with zipfile.ZipFile(path) as archive:
        for number in range(first, last):
            faces[number] = WAYS[way](archive.read(MEMBER.format(number + 1)))
    del faces
    block.close()


def serve(path: str, images: int, result: str) -> None:
    """Runs as a peer: for each line that names a way, does all the work and prints the seconds."""
    block = shared_memory.SharedMemory(create=True, size=images * SIZE * SIZE * 3)
    processes = os.cpu_count() or 1
    bounds = [images * part // (4 * processes) for part in range(4 * processes + 1)]
    with ProcessPoolExecutor(processes) as pool:
        for line in sys.stdin:
            start = time.perf_counter()
            jobs = [
                pool.submit(work, line.strip(), path, block.name, images, first, last)
                for first, last in zip(bounds, bounds[1:])
            ]
            for job in jobs:
                job.result()
            print(time.perf_counter() - start, flush=True)
    faces = np.ndarray((images, SIZE, SIZE, 3), np.uint8, block.buf)
    np.save(result, faces.transpose(0, 3, 1, 2))
    del faces
    block.close()
    block.unlink()


class Peer:
    """A Python that does the work with what it has installed."""

    def __init__(self, python: str, zip_file: Path, images: int, result: Path) -> None:
        asked = "import PIL, importlib.util as u; print(PIL.__version__, u.find_spec('simplejpeg'))"
        version, _, spec = subprocess.check_output([python, "-c", asked], text=True).partition(" ")
        self.version = version
        self.ways = list(WAYS) if spec.strip() != "None" else ["Pillow"]
        self.result = result
        self.process = subprocess.Popen(
            [python, __file__, "--serve", str(zip_file), str(images), str(result)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )

    def seconds(self, way: str) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(way + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self) -> np.ndarray:
        """Returns the pictures of the last round."""
        self.process.communicate()
        return np.load(self.result)


def run_ours(command: list[str], folder: Path) -> float:
    shutil.rmtree(folder / "cache", ignore_errors=True)
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return seconds


def our_faces(folder: Path, images: int) -> np.ndarray:
    """Finds the pixels among the results: the only file of just that size, or with an npy header."""
    wanted = images * SIZE * SIZE * 3
    for path in sorted(folder.rglob("*")):
        if path.is_file() and wanted <= path.stat().st_size < wanted + 4096:
            pixels = np.frombuffer(path.read_bytes()[-wanted:], np.uint8)
            return pixels.reshape(images, 3, SIZE, SIZE)
    sys.exit("no result of the expected size was found")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures decoding of pictures.")
    parser.add_argument("--program", help="the pcae-run to measure")
    parser.add_argument("--python", action="append", default=[], help="a further Python as a peer")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.serve and not given.program:
        parser.error("--program is wanted")
    return given


def main() -> int:
    given = arguments()
    if given.serve:
        serve(given.serve[0], int(given.serve[1]), given.serve[2])
        return 0
    program = shutil.which(given.program)
    if program is None:
        sys.exit(f"no program at `{given.program}`")
    program = str(Path(program).absolute())
    before = round(os.getloadavg()[0], 2)
    with tempfile.TemporaryDirectory(prefix="decode-") as name:
        folder = Path(name)
        write_faces(folder / "celeba", given.images)
        archive = folder / "celeba" / "img_align_celeba.zip"
        (folder / "pipeline.ron").write_text(PIPELINE)
        command = [program, "pipeline.ron"]
        peers = [
            Peer(python, archive, given.images, folder / f"peer{number}.npy")
            for number, python in enumerate([sys.executable, *given.python])
        ]
        sides: dict[str, list[float]] = {"ours": []}
        for _ in range(given.rounds):
            sides["ours"].append(run_ours(command, folder))
            for peer in peers:
                for way in peer.ways:
                    side = f"{way}{'-SIMD' if '.post' in peer.version else ''} {peer.version}"
                    sides.setdefault(side, []).append(peer.seconds(way))
        expected = [peer.end() for peer in peers][0].astype(int)
        difference = np.abs(our_faces(folder, given.images).astype(int) - expected)
        kilobytes = archive.stat().st_size / given.images / 1e3

    medians = {side: statistics.median(seconds) for side, seconds in sides.items()}
    fastest = min(seconds for side, seconds in medians.items() if side.startswith("Pillow"))
    print(f"{given.images} pictures of {kilobytes:.1f} kB, median of {given.rounds}, "
          f"{os.cpu_count()} cores, load average {before}")
    print(f"{'':<38}{'median s':>10}{'least s':>10}{'pictures/s':>12}{'ours is':>9}")
    for side, median in medians.items():
        speed = given.images / median
        print(f"{side:<38}{median:>10.3f}{min(sides[side]):>10.3f}{speed:>12.0f}"
              f"{median / medians['ours']:>8.2f}x")
    ratio = fastest / medians["ours"]
    print(f"pixels differ from Pillow's by {difference.mean():.3f} on average, "
          f"at most {difference.max()}")
    print(f"wanted: {WANTED_RATIO} of the fastest Pillow's speed; found: {ratio:.2f}")
    print(json.dumps({
        "benchmark": "decode",
        "load_average": [before, round(os.getloadavg()[0], 2)],
        "images": given.images,
        "pillow": PIL.__version__,
        "seconds": {side: [round(s, 4) for s in seconds] for side, seconds in sides.items()},
        "ratio": round(ratio, 3),
        "mean_difference": round(float(difference.mean()), 4),
        "largest_difference": int(difference.max()),
    }))
    return int(ratio < WANTED_RATIO or difference.mean() > 1)


if __name__ == "__main__":
    sys.exit(main())
