"""Reference numbers for src/evaluation/probe: networks in PyTorch, neighbors in scikit-learn.

For each network: weights, a batch with its classes, scores, features, the cross-entropy, its
gradients, and the weights after one and after three steps of Adam with weight decay. Computed in
double precision from numbers that 32 bits hold exactly. Gradients are compared with finite
differences before anything is written. Run from the repository root with PyTorch 2.9 and
scikit-learn 1.x:
    python tests/reference/classification.py > tests/reference/classification.json
"""
import json

import numpy as np
import sklearn
import torch
from sklearn.neighbors import KNeighborsClassifier
from torch.nn import functional

BATCH, CLASSES, RATE, DECAY = 6, 3, 0.01, 0.1
# How far from zero arguments of ReLU stay, so that rounding changes no derivative.
MARGIN = 1e-4


def exact(array, digits=3):
    """Rounds to short decimals, and those to 32 bits: exact on both sides and short to write."""
    return torch.from_numpy(np.float32(np.round(array, digits)).astype(np.float64))


def dense(random, outputs, inputs):
    return {"weight": exact(random.uniform(-0.8, 0.8, (outputs, inputs))),
            "bias": exact(random.uniform(-0.5, 0.5, outputs))}


def named(**layers):
    return {f"{layer.replace('__', '.')}.{name}": value
            for layer, parts in layers.items() for name, value in parts.items()}


def linear(weights, inputs, kinks):
    return inputs


def mlp(weights, inputs, kinks):
    hidden = inputs
    for layer in ["body.hidden.0", "body.to_latent"]:
        hidden = functional.linear(hidden, weights[f"{layer}.weight"], weights[f"{layer}.bias"])
        kinks.append(hidden)
        hidden = functional.relu(hidden)
    return hidden


def convolution(weights, inputs, kinks):
    layer = "body.convolutions.0"
    images = inputs.reshape(len(inputs), 1, 8, 8)
    hidden = functional.conv2d(images, weights[f"{layer}.weight"], weights[f"{layer}.bias"],
                               stride=2, padding=1)
    kinks.append(hidden)
    hidden = functional.relu(hidden).flatten(1)
    layer = "body.to_latent"
    hidden = functional.linear(hidden, weights[f"{layer}.weight"], weights[f"{layer}.bias"])
    kinks.append(hidden)
    return functional.relu(hidden)


def scores(features, weights):
    return functional.linear(features, weights["to_classes.weight"], weights["to_classes.bias"])


def cross_entropy(body, weights, inputs, labels):
    return functional.cross_entropy(scores(body(weights, inputs, []), weights), labels)


def check_gradients(body, weights, inputs, labels):
    step = 1e-6
    for name, weight in weights.items():
        with torch.no_grad():
            flat = weight.view(-1)
            for place in range(0, len(flat), 7):
                sides = []
                for sign in (1, -1):
                    flat[place] += sign * step
                    sides.append(cross_entropy(body, weights, inputs, labels).item())
                    flat[place] -= sign * step
                quotient = (sides[0] - sides[1]) / (2 * step)
                assert abs(quotient - weight.grad.view(-1)[place].item()) < 1e-6, name


def arrays(tensors):
    return {name: {"shape": list(tensor.shape), "values": tensor.detach().flatten().tolist()}
            for name, tensor in tensors.items()}


def network(name, form, body, weights, inputs, labels):
    weights = {key: value.clone().requires_grad_() for key, value in weights.items()}
    kinks = []
    features = body(weights, inputs, kinks)
    assert all(kink.abs().min() > MARGIN for kink in kinks), f"{name}: too near to a kink"
    loss = cross_entropy(body, weights, inputs, labels)
    loss.backward()
    check_gradients(body, weights, inputs, labels)
    found = {
        "name": name, "form": form, "inputs": [float(v) for v in inputs.flatten()],
        "labels": labels.tolist(), "weights": arrays(weights),
        "features": features.detach().flatten().tolist(),
        "scores": scores(features, weights).detach().flatten().tolist(),
        "loss": loss.item(), "gradients": arrays({k: v.grad for k, v in weights.items()}),
    }
    adam = torch.optim.Adam(weights.values(), lr=RATE, weight_decay=DECAY)
    for steps in (1, 2, 3):
        adam.zero_grad()
        cross_entropy(body, weights, inputs, labels).backward()
        adam.step()
        if steps != 2:
            found[f"after_{steps}"] = arrays(weights)
    return found


def neighbors(random, count):
    points = np.round(random.normal(0, 1, (60, 3)), 2).astype(np.float32)
    queries = np.round(random.normal(0, 1, (25, 3)), 2).astype(np.float32)
    labels = random.integers(0, 4, 60)
    model = KNeighborsClassifier(count, algorithm="brute").fit(points.astype(np.float64), labels)
    # Equal distances would leave the choice of neighbors open.
    distances, _ = model.kneighbors(queries.astype(np.float64), count + 1)
    assert np.diff(distances, axis=1).min() > 1e-9
    return {
        "neighbors": count, "width": 3, "points": [float(v) for v in points.ravel()],
        "labels": labels.tolist(), "queries": [float(v) for v in queries.ravel()],
        "predicted": model.predict(queries.astype(np.float64)).tolist(),
    }


def main():
    random = np.random.default_rng(3)
    labels = torch.tensor([0, 2, 1, 1, 0, 2])
    vectors = exact(random.normal(0, 1, (BATCH, 5)))
    images = exact(random.uniform(0, 1, (BATCH, 64)))
    vector, image = {"Vector": {"width": 5}}, {"Image": {"channels": 1, "height": 8, "width": 8}}
    filters = {"weight": exact(random.uniform(-0.5, 0.5, (2, 1, 4, 4))),
               "bias": exact(random.uniform(-0.2, 0.2, 2))}
    networks = [
        network("linear", vector, linear, named(to_classes=dense(random, CLASSES, 5)), vectors, labels),
        network("mlp", vector, mlp, named(
            body__hidden__0=dense(random, 4, 5), body__to_latent=dense(random, 3, 4),
            to_classes=dense(random, CLASSES, 3)), vectors, labels),
        network("convolution", image, convolution, named(
            body__convolutions__0=filters, body__to_latent=dense(random, 4, 32),
            to_classes=dense(random, CLASSES, 4)), images, labels),
    ]
    print(json.dumps({
        "_made_by": f"tests/reference/classification.py, PyTorch {torch.__version__.split('+')[0]}, "
                    f"scikit-learn {sklearn.__version__}",
        "networks": networks,
        "neighbors": [neighbors(random, count) for count in (1, 4, 5)],
    }))


main()
