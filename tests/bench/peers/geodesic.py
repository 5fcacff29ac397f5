"""Shortest paths along nearest neighbors by scikit-learn and SciPy: POINTS RESULT ROWS NEIGHBORS.

A graph in several parts has no path between them here; we join them. So only pairs that have one are
compared.
"""

import numpy as np
import scipy
import sklearn
from scipy.sparse.csgraph import dijkstra
from sklearn.neighbors import kneighbors_graph

import side

path, result, (rows, neighbors) = side.arguments()
points = side.points(path, rows)
with side.Measured() as measured:
    graph = kneighbors_graph(points, neighbors, mode="distance", n_jobs=-1)
    graph = graph.maximum(graph.T)
    paths = dijkstra(graph, directed=False)
difference = None
if result != "-":
    found = np.memmap(result, np.float32, "r", shape=(rows, rows))
    finite = [np.isfinite(row) for row in paths]
    pairs = zip(found, paths, finite)
    difference = max(side.largest_difference(row[has], path[has]) for row, path, has in pairs)
program = f"scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}"
measured.tell(program, difference)
