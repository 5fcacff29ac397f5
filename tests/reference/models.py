"""Reference numbers for src/models and src/training: every model and loss term, in PyTorch.

For each case: weights, inputs, codes, what the decoder makes of them, loss terms, gradients of the
total, running statistics after one step, and for some the weights after three steps of Adam.
Computed in double precision from numbers that 32 bits hold exactly, so that both sides start from
the same. Run from the repository root with PyTorch 2.9:
    python tests/reference/models.py > tests/reference/models.json

Before anything is written, gradients are compared with finite differences, all results with a run
in single precision, and models with others that are a special case of them.
"""
import itertools
import json
import sys
from math import prod, sqrt

import numpy as np
import torch

from torch_models import SIDE, Vae, kinks, parse

BATCH, WIDTH, RATE, STEPS = 6, 5, 0.01, 3
# How far from zero arguments of ReLU and of absolute values stay, so that rounding changes no derivative.
MARGIN = 1e-4
# The share of weights that have a gradient: with less, too much of a network is switched off.
ALIVE = 0.9
# Largest difference to single precision, of an array's largest entry: sums that cancel have more.
SINGLE = 3e-6

CONV = "network: Conv(channels: [2, 3])"
PCAE = f"Pcae(latent: 3, {CONV}, beta: 2.5, gamma: Fixed"
HAE = f"Hae(latent: 3, {CONV}"
AE = "Ae(latent: 3, network: Conv(channels: [2, 3]"
CASES = {
    "pcae": f"{PCAE})",
    "pcae-square": f"{PCAE}, isometry: Square)",
    "pcae-log": f"{PCAE}, isometry: Log)",
    "pcae-isometry-only": f"{PCAE}, objective: IsometryOnly)",
    "pcae-variance-only": f"{PCAE}, objective: VarianceOnly)",
    "pcae-vectors": "Pcae(latent: 3, network: Mlp(widths: [7, 5]), beta: 0.5, gamma: Fixed, "
                    "reconstruction: SquaredError)",
    "ae": f"{AE}), reconstruction: SquaredError)",
    "ae-mean": f"{AE}), reconstruction: MeanCrossEntropy)",
    "ae-mlp": "Ae(latent: 2, network: Mlp(widths: [6]), reconstruction: MeanSquaredError)",
    "ae-linear": "Ae(latent: 2, network: Mlp(widths: []), reconstruction: MeanSquaredError)",
    "ae-norm": f"{AE}, batch_norm: true), reconstruction: SquaredError)",
    "ae-keeps-size": f"{AE}, last: KeepsSize), reconstruction: SquaredError)",
    "ae-keeps-size-norm":
        f"{AE}, batch_norm: true, last: KeepsSize), reconstruction: SquaredError)",
    "hae": f"{HAE})",
    "hae-geometric": f"{HAE}, prefixes: All(weights: Geometric(ratio: 0.5)))",
    "hae-listed": f"{HAE}, prefixes: All(weights: Listed([1.0, 0.5, 0.25])))",
    "hae-sampled": f"{HAE}, prefixes: Sampled(ratio: 0.9))",
    "pca-ae": f"PcaAe(latent: 3, {CONV})",
    "pca-ae-shared": f"PcaAe(latent: 3, {CONV}, trunk: Shared)",
    "vae": f"Vae(latent: 3, {CONV}, beta: 1.5)",
    "ard-vae": f"ArdVae(latent: 3, {CONV}, beta: 5.0)",
    "irmae": f"Irmae(latent: 4, {CONV}, layers: 2, reconstruction: MeanSquaredError)",
}
VECTORS = ["pcae-vectors", "ae-linear"]
STEPPED = ["pcae", "hae", "irmae"]


def decimals(tensor, digits):
    """Rounds to short decimals, and those to 32 bits: exact on both sides and short to write."""
    return torch.from_numpy(np.float32(np.round(tensor.numpy(), digits)).astype(np.float64))


def uniform(random, shape, low, high):
    return decimals(low + (high - low) * torch.rand(shape, generator=random, dtype=float), 3)


def draw_batch(name, model, random):
    """Returns what the model is given besides weights; what it does not take is left out."""
    latent = model.latent

    def normal(*shape):
        return decimals(torch.randn(shape, generator=random, dtype=float), 2)

    if name in VECTORS:
        batch = {"inputs": normal(BATCH, WIDTH)}
    else:
        batch = {"inputs": decimals(torch.rand(BATCH, 1, SIDE, SIDE, generator=random), 2)}
    if name.startswith("pcae"):
        points = 1.5 * torch.rand(BATCH, 2, generator=random, dtype=float)
        # As two samples with the same nearest anchor.
        points[4] = points[1]
        distances = (points[:, None] - points[None]).norm(dim=2).float()
        batch["squared_distances"] = distances.square().double()
        batch["memory"] = torch.tensor([1.9 * (i + 1) / latent for i in range(latent)], dtype=float)
    if name == "ard-vae":
        batch["memory"] = torch.tensor([0.7, 1.3, 0.2], dtype=float)
    if name == "hae-sampled":
        lengths = torch.tensor([1, 3, 2, 3, 1, 2])
        batch["noise"] = (torch.arange(latent) < lengths[:, None]).double()
    if isinstance(model, Vae):
        batch["noise"] = normal(BATCH, latent)
    if name.startswith("pca-ae"):
        batch["earlier"] = normal(BATCH, latent - 1)
    return batch


def draw_weights(shapes, random):
    weights = {}
    for name, shape in shapes.items():
        if name.endswith("variance") or "norms" in name and name.endswith("weight"):
            weights[name] = uniform(random, shape, 0.5, 1.5)
        else:
            # Larger than usual, so that codes differ clearly.
            bound = 0.5 if len(shape) == 1 else sqrt(6 / prod(shape[1:]))
            weights[name] = uniform(random, shape, -bound, bound)
    return weights


def is_trained(name):
    return not name.startswith("trunk.") and not name.endswith((".mean", ".variance"))


def copies(weights, dtype=torch.float64):
    """Returns copies to compute with: running statistics are moved in place."""
    return {name: value.detach().clone().to(dtype).requires_grad_(is_trained(name))
            for name, value in weights.items()}


def gradients(w):
    """Returns gradients; those that are zero but for rounding, before a norm, are zero."""
    found = {name: value.grad for name, value in w.items() if value.requires_grad}
    return {name: torch.where(grad.abs() < 1e-12, 0, grad) for name, grad in found.items()}


def results(model, weights, batch, stepped, dtype=torch.float64):
    """Returns all that a case holds besides its inputs."""
    batch = {name: value.to(dtype) for name, value in batch.items()}
    w = copies(weights, dtype)
    codes, outputs, losses = model.run(w, batch)
    losses["total"].backward()
    found = {"codes": codes, "outputs": outputs, "losses": losses, "gradients": gradients(w)}
    if statistics := {name: w[name] for name in w if name.endswith((".mean", ".variance"))}:
        found["statistics"] = statistics
        with torch.no_grad():
            found["codes_eval"], found["outputs_eval"], _ = model.run(
                copies(weights, dtype), batch, training=False)
    if stepped:
        w = copies(weights, dtype)
        optimizer = torch.optim.Adam([v for v in w.values() if v.requires_grad], RATE)
        for _ in range(STEPS):
            optimizer.zero_grad()
            model.run(w, batch)[2]["total"].backward()
            optimizer.step()
        found["weights_after_steps"] = w
    return found


def check_gradients(name, model, weights, batch, found):
    """Compares gradients with central differences of the total along random directions."""
    random = torch.Generator().manual_seed(1)
    for _ in range(5):
        step = {key: 1e-6 * torch.randn(grad.shape, generator=random, dtype=float)
                for key, grad in found["gradients"].items()}
        total = {}
        for sign in (1, -1):
            moved = {key: value + sign * step.get(key, 0) for key, value in weights.items()}
            with torch.no_grad():
                total[sign] = model.run(copies(moved), batch)[2]["total"].item()
        predicted = sum((step[key] * grad).sum().item() for key, grad in found["gradients"].items())
        difference = (total[1] - total[-1]) / 2
        assert abs(difference - predicted) < 1e-4 * abs(predicted) + 1e-10, (name, difference, predicted)


def arrays(found):
    """Lists every array of the results by its path."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{path}", array) for path, array in arrays(value))
        else:
            yield name, value.detach()


def single_error(model, weights, batch, stepped, found):
    """Returns the largest difference to a run in single precision, of an array's largest entry."""
    single = dict(arrays(results(model, weights, batch, stepped, torch.float32)))
    worst = 0.0
    for path, value in arrays(found):
        # Gradients before a norm are zero but for rounding: these stay small in full.
        largest = value.abs().max().item() or 1.0
        worst = max(worst, (single[path] - value).abs().max().item() / largest)
    return worst


def make(name):
    """Returns the first draw on which rounding decides nothing and most of the network is alive."""
    model, stepped = parse(CASES[name]), name in STEPPED
    values = WIDTH if name in VECTORS else SIDE**2
    for seed in itertools.count():
        random = torch.Generator().manual_seed(seed)
        batch = draw_batch(name, model, random)
        weights = draw_weights(model.shapes(values), random)
        kinks.clear()
        found = results(model, weights, batch, stepped)
        grads = torch.cat([grad.flatten() for grad in found["gradients"].values()])
        alive = (grads != 0).double().mean()
        error = single_error(model, weights, batch, stepped, found)
        if min(kinks, default=1.0) > MARGIN and alive > ALIVE and error < SINGLE:
            break
    check_gradients(name, model, weights, batch, found)
    losses = {term: round(value.item(), 4) for term, value in found["losses"].items()}
    print(f"{name}: seed {seed}, {alive:.0%} alive, single precision {error:.0e}, {losses}",
          file=sys.stderr)
    return model, weights, batch, found


def check_special_cases(made):
    """Compares models that must agree, given the same weights and inputs."""
    _, weights, batch, _ = made["hae"]
    hae, ae = CASES["hae"], CASES["hae"].replace("Hae", "Ae")
    ones = batch | {"noise": torch.ones(BATCH, 3, dtype=float)}
    pairs = [
        (hae, hae[:-1] + ", prefixes: All(weights: Geometric(ratio: 1.0)))", weights, batch),
        (ae, hae[:-1] + ", prefixes: All(weights: Listed([0.0, 0.0, 1.0])))", weights, batch),
        (ae, CASES["hae-sampled"], weights, ones),
    ]
    _, weights, batch, _ = made["vae"]
    batch = batch | {"memory": torch.ones(3, dtype=float)}
    pairs.append((CASES["vae"], CASES["vae"].replace("Vae", "ArdVae"), weights, batch))
    _, weights, batch, _ = made["irmae"]
    weights = weights | {f"linear.{i}.weight": torch.eye(4, dtype=float) for i in range(2)}
    irmae = CASES["irmae"]
    pairs.append((irmae.replace("Irmae", "Ae").replace("layers: 2, ", ""), irmae, weights, batch))
    for one, other, weights, batch in pairs:
        totals = [parse(text).run(weights, batch)[2]["total"].item() for text in (one, other)]
        assert abs(totals[0] - totals[1]) < 1e-12 * abs(totals[0]), (one, other, totals)


def number(value):
    """Writes what 32 bits hold by the shortest decimal that gives it back, all else by 9 digits."""
    single = np.float32(value)
    return float(str(single)) if single == value else float(f"{value:.9g}")


def flat(tensor):
    return [number(value) for value in tensor.detach().flatten().tolist()]


def named(tensors):
    return {name: {"shape": list(t.shape), "values": flat(t)} for name, t in tensors.items()}


def record(name, weights, batch, found):
    image = {"Image": {"channels": 1, "height": SIDE, "width": SIDE}}
    given = {key: flat(batch[key]) if key in batch else None
             for key in ("squared_distances", "noise", "earlier")}
    return {
        "name": name,
        "model": CASES[name],
        "form": {"Vector": {"width": WIDTH}} if name in VECTORS else image,
        "batch": BATCH,
        "inputs": flat(batch["inputs"]),
        **given,
        "memory": batch["memory"].tolist() if "memory" in batch else None,
        "weights": named(weights),
        **{key: named(value) if isinstance(value, dict) else flat(value)
           for key, value in found.items()},
        "losses": {term: number(loss.item()) for term, loss in found["losses"].items()},
    }


def main():
    made = {name: make(name) for name in CASES}
    check_special_cases(made)
    records = (record(name, *rest) for name, (_, *rest) in made.items())
    by = f"tests/reference/models.py, PyTorch {torch.__version__}, double precision"
    print(f'{{"_made_by": {json.dumps(by)}, "rate": {RATE}, "steps": {STEPS}, "cases": [')
    # One line for each field, so that a change shows where it is.
    texts = [",\n ".join(f'"{key}": {json.dumps(value)}' for key, value in record.items())
             for record in records]
    print("{" + "},\n{".join(texts) + "}\n]}")


if __name__ == "__main__":
    main()
