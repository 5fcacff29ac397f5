"""The nearest anchor of each point by scikit-learn: POINTS RESULT ROWS ANCHORS; the first are anchors."""

import numpy as np
import sklearn
from sklearn.neighbors import NearestNeighbors

import side

path, result, (rows, anchors) = side.arguments()
points = side.points(path, rows)
with side.Measured() as measured:
    search = NearestNeighbors(n_neighbors=1, n_jobs=-1).fit(points[:anchors])
    expected, _ = search.kneighbors(points)
difference = None
if result != "-":
    difference = side.largest_difference(np.fromfile(result).reshape(expected.shape), expected)
measured.tell(f"scikit-learn {sklearn.__version__}", difference)
