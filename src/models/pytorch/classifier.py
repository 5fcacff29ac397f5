"""{{ title }}: a trained classifier of images, in plain PyTorch.

    classifier = load("the folder of this file")
    classes = classifier(images).argmax(dim=1)
    features = classifier.features(images)

{% for fact in facts %}
{{ fact }}
{% endfor %}

{{ settings }}
"""

import json
from pathlib import Path

import torch
from torch import nn

CLASSES = {{ classes }}


class Classifier(nn.Module):
    """From images to a score for each of `CLASSES`, before the softmax."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
{% for layer in body %}
            {{ layer }},
{% endfor %}
        )
        self.to_classes = {{ to_classes }}

    def features(self, images):
        return self.body(images)

    def forward(self, images):
        return self.to_classes(self.features(images))


def load(folder):
    """Returns the trained classifier, in evaluation mode."""
    classifier = Classifier()
    classifier.load_state_dict(read_weights(Path(folder) / "weights.safetensors"))
    return classifier.eval()


{{ read_weights }}
