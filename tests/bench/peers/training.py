"""Training steps of a PCAE with the paper's network, by PyTorch: POINTS RESULT NETWORK WARM STEPS."""

import sys

import torch
from torch import nn

import side

BATCH = 256
LATENT = 16
# Channels of the image, its side, channels after each halving, batch normalization.
NETWORKS = {
    "Dsprites": (1, 64, [32, 32, 64, 64], False),
    "Shapes3d": (3, 64, [32, 32, 64, 64], False),
    "Mnist": (1, 32, [64, 128, 256, 512], True),
}

network, warm, steps = sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
channels, size, widths, normed = NETWORKS[network]
torch.manual_seed(0)


def layers(kind: type[nn.Module], widths: list[int], ends_bare: bool) -> nn.Sequential:
    made: list[nn.Module] = []
    for index, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        made.append(kind(inputs, outputs, 4, 2, 1))
        if not (ends_bare and index + 2 == len(widths)):
            made += [nn.BatchNorm2d(outputs), nn.ReLU()] if normed else [nn.ReLU()]
    return nn.Sequential(*made)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = (widths[-1], size // 16, size // 16)
        features = widths[-1] * (size // 16) ** 2
        self.encoder = layers(nn.Conv2d, [channels, *widths], False)
        self.to_latent, self.from_latent = nn.Linear(features, LATENT), nn.Linear(LATENT, features)
        self.decoder = layers(nn.ConvTranspose2d, [*widths[::-1], channels], True)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        codes = self.to_latent(self.encoder(images).flatten(1))
        return codes, self.decoder(self.from_latent(codes).view(-1, *self.last))


model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), 1e-4)
images = (torch.rand(BATCH, channels, size, size) < 0.1).float()
wanted = torch.rand(BATCH, BATCH).square()
gamma = torch.arange(1, LATENT + 1) * 1.9 / LATENT


def step() -> None:
    codes, logits = model(images)
    if network == "Dsprites":
        loss = nn.functional.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    else:
        loss = (logits.sigmoid() - images).square().sum()
    squares = codes.square().sum(1, keepdim=True)
    isometry = (squares + squares.T - 2 * codes @ codes.T - wanted).abs().mean()
    variance = (gamma * codes.var(0, unbiased=False)).sum()
    optimizer.zero_grad()
    (loss / BATCH + 5e-3 * (variance + isometry)).backward()
    optimizer.step()
    loss.item()


for _ in range(warm):
    step()
with side.Measured() as measured:
    for _ in range(steps):
        step()
measured.tell(f"PyTorch {torch.__version__.split('+')[0]}")
