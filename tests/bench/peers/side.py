"""What all peers share: the points, and the line of JSON that they print."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

WIDTH = 784


def arguments() -> tuple[str, str, list[int]]:
    """Returns the points' file, our result's file (or "-") and the numbers after them."""
    return sys.argv[1], sys.argv[2], [int(number) for number in sys.argv[3:]]


def points(path: str, rows: int) -> np.ndarray:
    bytes_ = np.fromfile(path, np.uint8, rows * WIDTH).reshape(rows, WIDTH)
    return bytes_.astype(np.float32) / np.float32(255)


def memory_mb(name: str) -> float:
    """Returns what Linux says of this process; it does not count what the starting one took."""
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith(name))
    return int(line.split()[1]) * 1024 / 1e6


class Measured:
    """Measures what is done in its block."""

    def __enter__(self) -> Measured:
        self.started_mb = memory_mb("VmRSS:")
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self.start
        self.peak_mb = memory_mb("VmHWM:")

    def tell(self, program: str, difference: float | None = None) -> None:
        print(json.dumps({
            "seconds": self.seconds,
            "started_mb": self.started_mb,
            "peak_mb": self.peak_mb,
            "program": program,
            "difference": difference,
        }))


def largest_difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Returns by how much numbers differ, in parts of themselves, or of a tenth of their mean."""
    return float((np.abs(found - expected) / np.maximum(expected, 0.1 * expected.mean())).max())
