"""Reference numbers for src/geometry: kNN graph, joined components, all-pairs shortest paths, and
distances of all points by way of a few anchors.

Run from the repository root with scikit-learn 1.x and SciPy 1.x:
    python tests/reference/geodesic.py > tests/reference/geodesic.json
"""
import json

import numpy as np
import scipy
import sklearn
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from sklearn.utils.graph import _fix_connected_components


def graph_distances(points, neighbors):
    graph = kneighbors_graph(points.astype(np.float64), neighbors, mode="distance")
    count, labels = connected_components(graph)
    if count > 1:
        graph = _fix_connected_components(
            X=points.astype(np.float64), graph=graph, n_connected_components=count,
            component_labels=labels, mode="distance",
        )
    graph = graph.maximum(graph.T)
    return dijkstra(graph, directed=False), int(count)


def case(points, neighbors):
    points = points.astype(np.float32)
    distances, count = graph_distances(points, neighbors)
    return {
        "rows": points.shape[0],
        "width": points.shape[1],
        "neighbors": neighbors,
        "points": [float(v) for v in points.ravel()],
        "components": count,
        "distances": [float(v) for v in distances.ravel()],
    }


def anchored(points, neighbors, anchors):
    points = points.astype(np.float32)
    between_anchors, count = graph_distances(points[anchors], neighbors)
    search = NearestNeighbors(n_neighbors=1).fit(points[anchors].astype(np.float64))
    legs, nearest = (found[:, 0] for found in search.kneighbors(points.astype(np.float64)))
    as_anchor = between_anchors[np.ix_(nearest, nearest)]
    straight = cdist(points.astype(np.float64), points.astype(np.float64))
    via_anchor = legs[:, None] + as_anchor + legs[None, :]
    np.fill_diagonal(via_anchor, 0)
    in_cell = np.where(nearest[:, None] == nearest[None, :], straight, as_anchor)
    return {
        "rows": points.shape[0],
        "width": points.shape[1],
        "neighbors": neighbors,
        "points": [float(v) for v in points.ravel()],
        "anchors": [int(v) for v in anchors],
        "nearest": [int(v) for v in nearest],
        "components": count,
        "as_anchor": [float(v) for v in as_anchor.ravel()],
        "straight_in_cell": [float(v) for v in in_cell.ravel()],
        "via_anchor": [float(v) for v in via_anchor.ravel()],
    }


rng = np.random.default_rng(0)
angle = rng.uniform(1.5 * np.pi, 4.5 * np.pi, 40)
roll = np.stack([angle * np.cos(angle), rng.uniform(0, 10, 40), angle * np.sin(angle)], axis=1)
clusters = np.concatenate([rng.normal(center, 1, (10, 4)) for center in (0, 30, 80)])
print(json.dumps({
    "_made_by": f"tests/reference/geodesic.py, scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}",
    "cases": [case(roll, 5), case(clusters, 4)],
    "anchored": [
        anchored(roll, 4, np.sort(rng.choice(40, 15, replace=False))),
        anchored(clusters, 2, np.sort(rng.choice(30, 12, replace=False))),
    ],
}))
