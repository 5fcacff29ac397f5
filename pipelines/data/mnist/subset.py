"""Takes 7,000 of MNIST's 70,000 digits: 5,000 of its training and 2,000 of its test images, drawn
without replacement, in their original order.

python3 subset.py FOLDER_OF_THE_FOUR_IDX_FILES
"""

import gzip
import random
import struct
import sys
from pathlib import Path

SIZE = 28 * 28
PARTS = {"train": 5000, "t10k": 2000}


def packed(name, header, content):
    with open(name, "wb") as file:
        # Without a time stamp, so that the same digits make the same bytes.
        with gzip.GzipFile("", "wb", 9, file, mtime=0) as archive:
            archive.write(header + content)


for part, count in PARTS.items():
    images = (Path(sys.argv[1]) / f"{part}-images-idx3-ubyte").read_bytes()
    labels = (Path(sys.argv[1]) / f"{part}-labels-idx1-ubyte").read_bytes()
    of = struct.unpack(">I", labels[4:8])[0]
    rows = sorted(random.Random(0).sample(range(of), count))
    pixels = b"".join(images[16 + row * SIZE :][:SIZE] for row in rows)
    packed(f"{part}-images-idx3-ubyte.gz", struct.pack(">IIII", 2051, count, 28, 28), pixels)
    packed(f"{part}-labels-idx1-ubyte.gz", struct.pack(">II", 2049, count), bytes(labels[8 + row] for row in rows))
