"""Reference numbers for src/models and src/training: one PCAE in PyTorch.

Prints weights, codes, losses, all gradients, and the weights after three steps of Adam.
Run from the repository root with PyTorch 2.9:
    python tests/reference/pcae_loss.py > tests/reference/pcae_loss.json
"""
import json

import torch
from torch import nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
BATCH, CHANNELS, SIDE, LATENT, WIDTHS, BETA, RATE, STEPS = 5, 1, 8, 3, [2, 3], 2.5, 0.01, 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [CHANNELS, *WIDTHS]
        side = SIDE // 2 ** len(WIDTHS)
        self.features = (widths[-1], side, side)
        count = widths[-1] * side * side
        pairs = list(zip(widths, widths[1:]))
        self.encoder = nn.ModuleDict({
            "convolutions": nn.ModuleList(nn.Conv2d(a, b, 4, 2, 1) for a, b in pairs),
            "to_latent": nn.Linear(count, LATENT),
        })
        self.decoder = nn.ModuleDict({
            "from_latent": nn.Linear(LATENT, count),
            "convolutions": nn.ModuleList(
                nn.ConvTranspose2d(b, a, 4, 2, 1) for a, b in reversed(pairs)
            ),
        })

    def forward(self, x):
        for layer in self.encoder["convolutions"]:
            x = torch.relu(layer(x))
        codes = self.encoder["to_latent"](x.flatten(1))
        x = self.decoder["from_latent"](codes).view(-1, *self.features)
        for index, layer in enumerate(self.decoder["convolutions"]):
            x = layer(torch.relu(x) if index else x)
        return codes, x


def losses(net, images, distances, gamma):
    codes, logits = net(images)
    bce = nn.functional.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    variance = (gamma * codes.var(0, unbiased=False)).sum()
    between = (codes[:, None] - codes[None]).pow(2).sum(2)
    isometry = (between - distances.pow(2)).abs().mean()
    reconstruction = bce / len(images)
    total = reconstruction + BETA * (variance + isometry)
    return codes, {"total": total, "reconstruction": reconstruction, "variance": variance,
                   "isometry": isometry}


def arrays(items):
    return {name: {"shape": list(t.shape), "values": t.flatten().tolist()} for name, t in items}


net = Net()
with torch.no_grad():
    for parameter in net.parameters():
        # Larger than usual, so that codes differ clearly; 32-bit values, so that both sides
        # start from the same numbers.
        parameter.copy_(parameter.mul(3).float().double())
images = torch.rand(BATCH, CHANNELS, SIDE, SIDE).mul(255).round().div(255).float().double()
points = torch.rand(BATCH, 2)
distances = torch.cdist(points, points).float().double()
gamma = torch.arange(1, LATENT + 1) * 1.9 / LATENT
weights = arrays(net.named_parameters())
optimizer = torch.optim.Adam(net.parameters(), RATE)
record = {}
for step in range(STEPS):
    codes, terms = losses(net, images, distances, gamma)
    optimizer.zero_grad()
    terms["total"].backward()
    if step == 0:
        record = {
            "codes": codes.flatten().tolist(),
            "losses": {name: term.item() for name, term in terms.items()},
            "gradients": arrays((n, p.grad) for n, p in net.named_parameters()),
        }
    optimizer.step()
print(json.dumps({
    "_made_by": f"tests/reference/pcae_loss.py, PyTorch {torch.__version__}, double precision",
    "batch": BATCH, "channels": CHANNELS, "side": SIDE, "latent": LATENT, "widths": WIDTHS,
    "beta": BETA, "rate": RATE, "steps": STEPS,
    "weights": weights,
    "images": images.flatten().tolist(),
    "distances": distances.flatten().tolist(),
    **record,
    "weights_after_steps": arrays(net.named_parameters()),
}))
