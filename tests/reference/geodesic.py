"""Reference numbers for src/geometry: kNN graph, joined components, all-pairs shortest paths.

Run from the repository root with scikit-learn 1.x and SciPy 1.x:
    python tests/reference/geodesic.py > tests/reference/geodesic.json
"""
import json

import numpy as np
import scipy
import sklearn
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.graph import _fix_connected_components


def case(points, neighbors):
    points = points.astype(np.float32)
    graph = kneighbors_graph(points.astype(np.float64), neighbors, mode="distance")
    count, labels = connected_components(graph)
    if count > 1:
        graph = _fix_connected_components(
            X=points.astype(np.float64), graph=graph, n_connected_components=count,
            component_labels=labels, mode="distance",
        )
    graph = graph.maximum(graph.T)
    distances = dijkstra(graph, directed=False)
    return {
        "rows": points.shape[0],
        "width": points.shape[1],
        "neighbors": neighbors,
        "points": [float(v) for v in points.ravel()],
        "components": int(count),
        "distances": [float(v) for v in distances.ravel()],
    }


rng = np.random.default_rng(0)
angle = rng.uniform(1.5 * np.pi, 4.5 * np.pi, 40)
roll = np.stack([angle * np.cos(angle), rng.uniform(0, 10, 40), angle * np.sin(angle)], axis=1)
clusters = np.concatenate([rng.normal(center, 1, (10, 4)) for center in (0, 30, 80)])
print(json.dumps({
    "_made_by": f"tests/reference/geodesic.py, scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}",
    "cases": [case(roll, 5), case(clusters, 4)],
}))
