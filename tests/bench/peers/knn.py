"""The nearest neighbors of all points by scikit-learn's brute force: POINTS RESULT ROWS NEIGHBORS."""

import numpy as np
import sklearn
from sklearn.neighbors import NearestNeighbors

import side

path, result, (rows, neighbors) = side.arguments()
points = side.points(path, rows)
with side.Measured() as measured:
    search = NearestNeighbors(n_neighbors=neighbors, algorithm="brute", n_jobs=-1).fit(points)
    expected, _ = search.kneighbors()
difference = None
if result != "-":
    difference = side.largest_difference(np.fromfile(result).reshape(expected.shape), expected)
measured.tell(f"scikit-learn {sklearn.__version__}", difference)
