"""{{ title }}: encoder and decoder of a trained model, in plain PyTorch.

    encoder, decoder = load("the folder of this file")
    codes = encoder({{ samples }})
    {{ samples }} = decoder(codes)

{% for fact in facts %}
{{ fact }}
{% endfor %}

{{ settings }}
"""

import json
from pathlib import Path

import torch
from torch import nn


class Encoder(nn.Module):
    """From {{ samples }} to codes."""

    def __init__(self):
        super().__init__()
{% if mean_shape %}
        self.register_buffer("mean", torch.zeros({{ mean_shape }}))
{% endif %}
{% if coordinates %}
        self.coordinates = nn.ModuleList(self.coordinate() for _ in range({{ coordinates }}))

    @staticmethod
    def coordinate():
        """Makes the network of one coordinate."""
        return nn.Sequential(
{% else %}
        self.layers = nn.Sequential(
{% endif %}
{% for layer in encoder %}
            {{ layer }},
{% endfor %}
        )

{% if coordinates %}
    def forward(self, {{ samples }}):
        return torch.cat([network({{ samples }}) for network in self.coordinates], dim=1)
{% elif is_distribution %}
    def distribution(self, {{ samples }}):
        """Returns the mean and the logarithm of the variance of every coordinate."""
        return self.layers({{ samples }}).chunk(2, dim=1)

    def forward(self, {{ samples }}):
        mean, _ = self.distribution({{ samples }})
        return mean
{% elif mean_shape %}
    def forward(self, {{ samples }}):
        return self.layers({{ samples }} - self.mean)
{% else %}
    def forward(self, {{ samples }}):
        return self.layers({{ samples }})
{% endif %}


class Decoder(nn.Module):
    """From codes to {{ samples }}."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
{% for layer in decoder %}
            {{ layer }},
{% endfor %}
        )

{% if has_logits %}
    def logits(self, codes):
        return self.layers(codes)

    def forward(self, codes):
        return torch.sigmoid(self.logits(codes))
{% else %}
    def forward(self, codes):
        return self.layers(codes)
{% endif %}


def load(folder):
    """Returns the trained encoder and decoder, in evaluation mode."""
    model = nn.ModuleDict({"encoder": Encoder(), "decoder": Decoder()})
    model.load_state_dict(read_weights(Path(folder) / "weights.safetensors"))
    model.eval()
    return model["encoder"], model["decoder"]


{{ read_weights }}
