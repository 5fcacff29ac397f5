"""Small files that `torch.save` wrote, for src/evaluation/fid/inception/pytorch, into tests/reference/pytorch.

Run from the repository root with PyTorch 2.9:
    python tests/reference/pytorch.py
"""
import pathlib
from collections import OrderedDict

import torch

folder = pathlib.Path(__file__).resolve().parent / "pytorch"
block = torch.nn.Sequential(OrderedDict(
    conv=torch.nn.Conv2d(2, 3, (1, 2), bias=False), bn=torch.nn.BatchNorm2d(3)))
arrays = block.state_dict()
arrays["conv.weight"].copy_(torch.arange(12.0).reshape(3, 2, 1, 2) / 4)
arrays["tied"] = arrays["conv.weight"]
arrays["turned"] = torch.arange(16.0).reshape(4, 4)[1:, 1:3].T
arrays["scalar"] = torch.tensor(2.5)
arrays["empty"] = torch.zeros(0, 4)
torch.save(arrays, folder / "tiny.pth")
torch.save(arrays, folder / "tiny_legacy.pth", _use_new_zipfile_serialization=False)
torch.save(torch.nn.Linear(1, 1), folder / "model.pth")
torch.save({"weight": torch.zeros(2, dtype=torch.float64)}, folder / "double.pth")
