"""The models of src/models in PyTorch, for models.py: weights named and laid out as in pcae-run.

A model takes its weights from a dictionary, and its settings from the text that pcae-run reads.
"""
import itertools
import re
from dataclasses import dataclass, field

import torch
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

SIDE = 8
# Smallest arguments so far of ReLU and of absolute values: near zero, rounding can change a derivative.
kinks = []


def note_kink(x):
    kinks.append(x.abs().min().item())


def relu(x):
    note_kink(x)
    return F.relu(x)


def layer(name, *shape, outputs=None):
    return {f"{name}.weight": shape, f"{name}.bias": (outputs or shape[0],)}


def norm_layer(name, channels):
    return {f"{name}.{part}": (channels,) for part in ("weight", "bias", "mean", "variance")}


def linear(w, name, x):
    return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))


def norm(w, name, x, training):
    """Moves the running statistics when training; without a weight, there is no scale or shift."""
    scale, shift = w.get(f"{name}.weight"), w.get(f"{name}.bias")
    mean, variance = w[f"{name}.mean"], w[f"{name}.variance"]
    return F.batch_norm(x, mean, variance, scale, shift, training, momentum=0.1, eps=1e-5)


@dataclass
class Conv:
    channels: list
    batch_norm: bool = False
    last: str = "Doubles"

    def trunk_shapes(self, name):
        widths, shapes = [1, *self.channels], {}
        for i, (before, after) in enumerate(itertools.pairwise(widths)):
            shapes |= layer(f"{name}.convolutions.{i}", after, before, 4, 4)
            if self.batch_norm:
                shapes |= norm_layer(f"{name}.norms.{i}", after)
        return shapes

    def features(self, start_side=0):
        side = start_side or SIDE >> len(self.channels)
        return self.channels[-1] * side**2

    def encoder_shapes(self, name, _values, outputs):
        return self.trunk_shapes(name) | layer(f"{name}.to_latent", outputs, self.features())

    def trunk(self, w, name, x, training):
        for i in range(len(self.channels)):
            convolution = f"{name}.convolutions.{i}"
            x = F.conv2d(x, w[f"{convolution}.weight"], w[f"{convolution}.bias"], 2, 1)
            x = relu(norm(w, f"{name}.norms.{i}", x, training) if self.batch_norm else x)
        return x.flatten(1)

    def encode(self, w, name, x, training):
        return linear(w, f"{name}.to_latent", self.trunk(w, name, x, training))

    @property
    def keeps_size(self):
        return self.last == "KeepsSize"

    @property
    def start_side(self):
        return SIDE >> len(self.channels) - self.keeps_size

    @property
    def up(self):
        """Channels before and after each doubling."""
        widths = [*reversed(self.channels), *([] if self.keeps_size else [1])]
        return list(itertools.pairwise(widths))

    def is_activated(self, doubling):
        return self.keeps_size or doubling < len(self.up) - 1

    def decoder_shapes(self, name, _values, inputs):
        shapes = layer(f"{name}.from_latent", self.features(self.start_side), inputs)
        for i, (before, after) in enumerate(self.up):
            shapes |= layer(f"{name}.convolutions.{i}", before, after, 4, 4, outputs=after)
            if self.batch_norm and self.is_activated(i):
                shapes |= norm_layer(f"{name}.norms.{i}", after)
        if self.keeps_size:
            shapes |= layer(f"{name}.last", 1, self.channels[0], 1, 1)
        return shapes

    def decode(self, w, name, codes, training):
        x = linear(w, f"{name}.from_latent", codes)
        x = x.view(-1, self.channels[-1], self.start_side, self.start_side)
        for i in range(len(self.up)):
            convolution = f"{name}.convolutions.{i}"
            x = F.conv_transpose2d(x, w[f"{convolution}.weight"], w[f"{convolution}.bias"], 2, 1)
            if self.is_activated(i):
                x = relu(norm(w, f"{name}.norms.{i}", x, training) if self.batch_norm else x)
        if self.keeps_size:
            x = F.conv2d(x, w[f"{name}.last.weight"], w[f"{name}.last.bias"])
        return x.flatten(1)


@dataclass
class Mlp:
    widths: list

    def hidden(self, name):
        return [f"{name}.hidden.{i}" for i in range(len(self.widths))]

    @staticmethod
    def shapes(names, sizes):
        shapes = {}
        for name, (before, after) in zip(names, itertools.pairwise(sizes)):
            shapes |= layer(name, after, before)
        return shapes

    def encoder_shapes(self, name, values, outputs):
        names = [*self.hidden(name), f"{name}.to_latent"]
        return self.shapes(names, [values, *self.widths, outputs])

    def decoder_shapes(self, name, values, inputs):
        names = [f"{name}.from_latent", *self.hidden(name)]
        return self.shapes(names, [inputs, *reversed(self.widths), values])

    def encode(self, w, name, x, _training):
        x = x.flatten(1)
        for hidden in self.hidden(name):
            x = relu(linear(w, hidden, x))
        return linear(w, f"{name}.to_latent", x)

    def decode(self, w, name, codes, _training):
        x = linear(w, f"{name}.from_latent", codes)
        for hidden in self.hidden(name):
            x = linear(w, hidden, relu(x))
        return x


@dataclass
class Model:
    """Settings, named as pcae-run names them, and what each model makes of weights and a batch."""

    latent: int
    network: object
    reconstruction: str = field(default="CrossEntropy", kw_only=True)

    def shapes(self, values):
        return (self.network.encoder_shapes("encoder", values, self.latent)
                | self.network.decoder_shapes("decoder", values, self.latent))

    def encode(self, w, batch, training):
        return self.network.encode(w, "encoder", batch["inputs"], training)

    def decode(self, w, codes, training=True):
        return self.network.decode(w, "decoder", codes, training)

    def error(self, outputs, batch):
        inputs = batch["inputs"].flatten(1)
        if self.reconstruction.endswith("CrossEntropy"):
            errors = F.binary_cross_entropy_with_logits(outputs, inputs, reduction="none")
        else:
            is_image = batch["inputs"].dim() == 4
            guess = torch.sigmoid(outputs) if is_image else outputs
            errors = F.mse_loss(guess, inputs, reduction="none")
        return errors.mean() if self.reconstruction.startswith("Mean") else errors.sum(1).mean()

    def run(self, w, batch, training=True):
        """Returns codes, the decoder's outputs, and the loss terms."""
        codes = self.encode(w, batch, training)
        outputs = self.decode(w, codes, training)
        error = self.error(outputs, batch)
        return codes, outputs, {"total": error, "reconstruction": error}


class Ae(Model):
    pass


@dataclass
class Pcae(Model):
    beta: float
    gamma: str
    isometry: str = "OfSquares"
    objective: str = "Full"

    def isometry_term(self, codes, squared):
        between = (codes[:, None] - codes[None]).pow(2).sum(2)
        if self.isometry == "OfSquares":
            note_kink((between - squared)[~torch.eye(len(codes), dtype=bool)])
            return (between - squared).abs().mean()
        length, distance = (between.clamp(min=0) + 1e-12).sqrt(), squared.sqrt()
        if self.isometry == "Square":
            return (length - distance).pow(2).mean()
        # Samples at distance 0 count as no error: their logarithms are never taken.
        apart = squared > 0
        ratio = torch.where(apart, length, 1).log() - torch.where(apart, distance, 1).log()
        return ratio.pow(2).mean()

    def run(self, w, batch, training=True):
        codes, outputs, losses = super().run(w, batch, training)
        terms = {
            "variance": (batch["memory"] * codes.var(0, unbiased=False)).sum(),
            "isometry": self.isometry_term(codes, batch["squared_distances"]),
        }
        wanted = {"Full": list(terms), "IsometryOnly": ["isometry"], "VarianceOnly": ["variance"]}
        added = sum(terms[name] for name in wanted[self.objective])
        return codes, outputs, losses | terms | {"total": losses["total"] + self.beta * added}


@dataclass
class All:
    weights: object

    def of(self, latent):
        return self.weights.of(latent)


@dataclass
class Geometric:
    ratio: float

    def of(self, latent):
        powers = [self.ratio**k for k in range(latent)]
        return [power / sum(powers) for power in powers]


@dataclass
class Listed:
    weights: list

    def of(self, _latent):
        return self.weights


class Equal:
    @staticmethod
    def of(latent):
        return [1 / latent] * latent


@dataclass
class Sampled:
    ratio: float


@dataclass
class Hae(Model):
    prefixes: object = field(default_factory=lambda: All(Equal))

    def run(self, w, batch, training=True):
        codes = self.encode(w, batch, training)
        outputs = self.decode(w, codes)
        if isinstance(self.prefixes, Sampled):
            error = self.error(self.decode(w, codes * batch["noise"]), batch)
            return codes, outputs, {"total": error, "reconstruction": error}
        kept = torch.ones(self.latent, self.latent, dtype=codes.dtype).tril()
        errors = [self.error(self.decode(w, codes * row), batch) for row in kept]
        total = sum(a * error for a, error in zip(self.prefixes.of(self.latent), errors))
        losses = {"total": total, "reconstruction": errors[-1], "prefixes": total}
        return codes, outputs, losses


@dataclass
class PcaAe(Model):
    """The last stage: earlier codes are given, and so is a trunk that all stages share."""

    trunk: str = "Separate"
    reconstruction: str = field(default="MeanCrossEntropy", kw_only=True)

    def shapes(self, values):
        last = self.latent - 1
        if self.trunk == "Shared":
            head = layer(f"heads.{last}", 1, self.network.features())
            encoder, name = self.network.trunk_shapes("trunk") | head, f"heads_norm.{last}"
        else:
            encoder = self.network.encoder_shapes(f"encoders.{last}", values, 1)
            name = f"encoders.{last}.norm"
        statistics = {f"{name}.mean": (1,), f"{name}.variance": (1,)}
        return encoder | statistics | self.network.decoder_shapes("decoder", values, self.latent)

    def encode(self, w, batch, training):
        last = self.latent - 1
        if self.trunk == "Shared":
            features = self.network.trunk(w, "trunk", batch["inputs"], training)
            raw, name = linear(w, f"heads.{last}", features), f"heads_norm.{last}"
        else:
            raw = self.network.encode(w, f"encoders.{last}", batch["inputs"], training)
            name = f"encoders.{last}.norm"
        return torch.cat([batch["earlier"], norm(w, name, raw, training)], 1)

    def run(self, w, batch, training=True):
        codes, outputs, losses = super().run(w, batch, training)
        covariance = (codes[:, :-1] * codes[:, -1:]).mean(0).pow(2).mean()
        total = losses["total"] + covariance
        return codes, outputs, losses | {"total": total, "covariance": covariance}


@dataclass
class Vae(Model):
    beta: float

    def shapes(self, values):
        return (self.network.encoder_shapes("encoder", values, 2 * self.latent)
                | self.network.decoder_shapes("decoder", values, self.latent))

    def prior_variance(self, batch):
        return torch.ones(self.latent, dtype=batch["inputs"].dtype)

    def run(self, w, batch, training=True):
        mean, log_variance = self.encode(w, batch, training).chunk(2, 1)
        deviation = (log_variance / 2).exp()
        drawn = mean + deviation * batch["noise"]
        error = self.error(self.decode(w, drawn), batch)
        prior = Normal(torch.zeros_like(mean), self.prior_variance(batch).sqrt())
        kl = kl_divergence(Normal(mean, deviation), prior).sum(1).mean()
        losses = {"total": error + self.beta * kl, "reconstruction": error, "kl": kl}
        return mean, self.decode(w, mean), losses


class ArdVae(Vae):
    def prior_variance(self, batch):
        return batch["memory"]


@dataclass
class Irmae(Model):
    layers: int

    def shapes(self, values):
        square = (self.latent, self.latent)
        return super().shapes(values) | {f"linear.{i}.weight": square for i in range(self.layers)}

    def encode(self, w, batch, training):
        codes = super().encode(w, batch, training)
        for i in range(self.layers):
            codes = linear(w, f"linear.{i}", codes)
        return codes


class Names(dict):
    """Words without fields stand for themselves."""

    def __missing__(self, name):
        return name


KINDS = [Ae, ArdVae, Hae, Irmae, PcaAe, Pcae, Vae]
KINDS += [All, Conv, Equal, Geometric, Listed, Mlp, Sampled]
NAMES = Names({kind.__name__: kind for kind in KINDS}, true=True)


def parse(text):
    """Reads settings: but for its colons, the text is a Python expression."""
    return eval(re.sub(r"(\w+): ", r"\1=", text), {}, NAMES)
