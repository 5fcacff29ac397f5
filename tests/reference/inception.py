"""Reference numbers for src/evaluation/fid/inception: resized channels and features of the FID Inception network.

The network is pytorch-fid's with weights that a formula makes of each array's name (the test makes the
same ones, so that 95 MB need not be stored); torch-fidelity's network gets the same weights. Run from
the repository root with PyTorch 2.9, torchvision 0.24, pytorch-fid 0.3.0, torch-fidelity 0.4.0,
clean-fid 0.1.35, Pillow:
    python tests/reference/inception.py > tests/reference/inception.json
"""
import json
import pathlib
import sys
import tempfile

import numpy as np
import PIL
import torch
import torch.nn.functional as F
import torchvision
from cleanfid.resize import build_resizer, make_resizer
from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3
from torch_fidelity.interpolate_compat_tensorflow import interpolate_bilinear_2d_like_tensorflow1x

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from inception_network import fid_network  # noqa: E402

PLACES = list(range(5, 2048, 64))


def numbers(name, count):
    """Uniform numbers between -1 and 1 that depend on the name and the place alone."""
    key = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for byte in name.encode():
            key = np.uint32((int(key) ^ byte) * 16777619 % 2**32)
        x = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1) + key
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        x = x ^ (x >> np.uint32(16))
    return x.astype(np.float64) / 2147483648 - 1


def fill(state):
    for name, array in state.items():
        if array.dtype != torch.float32:
            continue
        middle, reach = {
            "bn.weight": (1, 0.2), "bn.bias": (0, 0.2),
            "bn.running_mean": (0, 0.2), "bn.running_var": (1, 0.3),
        }.get(".".join(name.split(".")[-2:]), (0, None))
        if reach is None:
            reach = float(np.sqrt(6 / np.prod(array.shape[1:])))
        values = middle + reach * numbers(name, array.numel())
        array.copy_(torch.from_numpy(values.astype(np.float32)).reshape(array.shape))


def image_set(seed, count, channels, height, width):
    """Smooth patterns with some noise, as bytes: [count, channels, height, width]."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width] / max(height, width)
    waves = rng.uniform(2, 12, size=(count, channels, 3, 1, 1))
    images = 127 + 90 * np.sin(waves[:, :, 0] * x + waves[:, :, 1] * y + waves[:, :, 2])
    images += rng.normal(scale=25, size=images.shape)
    return images.clip(0, 255).round().astype(np.uint8)


def resizes():
    cases = []
    for seed, (from_, to) in enumerate([((5, 6), (11, 13)), ((23, 17), (7, 5)), ((6, 19), (12, 8))]):
        pixels = image_set(seed, 1, 1, *from_)[0, 0]
        tensor = torch.from_numpy(pixels.astype(np.float32))[None, None]
        clean = make_resizer("PIL", False, "bicubic", (to[1], to[0]))
        found = {
            "PytorchFid": F.interpolate(tensor, to, mode="bilinear", align_corners=False).numpy(),
            "Tensorflow1": interpolate_bilinear_2d_like_tensorflow1x(
                tensor, to, align_corners=False).numpy(),
            "Clean": clean(np.repeat(pixels[:, :, None], 3, axis=2))[:, :, 0],
        }
        for name, resized in found.items():
            cases.append({
                "resize": name, "height": from_[0], "width": from_[1],
                "pixels": pixels.ravel().tolist(), "new_height": to[0], "new_width": to[1],
                "resized": [round(float(v), 5) for v in resized.ravel()],
            })
    return cases


@torch.no_grad()
def features(images, as_they_are, resizing, of_torch_fidelity):
    """The features of color images in each of the three ways."""
    tensor = torch.from_numpy(images)
    by_pytorch = resizing(tensor / 255)[0].squeeze(-1).squeeze(-1)
    (by_tensorflow,) = of_torch_fidelity(tensor)
    clean = np.stack([build_resizer("clean")(image.transpose(1, 2, 0)) for image in images])
    clean = (torch.from_numpy(clean).permute(0, 3, 1, 2) - 128) / 128
    by_clean = as_they_are(clean)[0].squeeze(-1).squeeze(-1)
    return {"PytorchFid": by_pytorch, "Tensorflow1": by_tensorflow, "Clean": by_clean}


torch.set_num_threads(2)
as_they_are, resizing = (fid_network(resize_input=resize, normalize_input=resize)
                         for resize in (False, True))
inner = fid_network.inner
fill(inner.state_dict())
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/weights.pth"
    torch.save(inner.state_dict(), path)
    of_torch_fidelity = FeatureExtractorInceptionV3(
        "inception-v3-compat", ["2048"], feature_extractor_weights_path=path)
sets = [image_set(10, 2, 3, 20, 26), image_set(11, 2, 1, 32, 32)]
cases = []
for index, images in enumerate(sets):
    color = np.repeat(images, 3 // images.shape[1], axis=1)
    for resize, found in features(color, as_they_are, resizing, of_torch_fidelity).items():
        chosen = found.numpy()[:, PLACES]
        assert np.abs(chosen).max() > 1e-3, "the network is dead"
        cases.append({"resize": resize, "set": index,
                      "features": [[float(f"{v:.7g}") for v in row] for row in chosen]})
print(json.dumps({
    "_made_by": f"tests/reference/inception.py, PyTorch {torch.__version__}, torchvision "
                f"{torchvision.__version__}, pytorch-fid 0.3.0, torch-fidelity 0.4.0, clean-fid 0.1.35, "
                f"Pillow {PIL.__version__}",
    "resizes": resizes(),
    "sets": [{"channels": s.shape[1], "height": s.shape[2], "width": s.shape[3],
              "pixels": s.ravel().tolist()} for s in sets],
    "places": PLACES,
    "cases": cases,
}))
