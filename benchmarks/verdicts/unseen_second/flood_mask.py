# SPDX-License-Identifier: Apache-2.0
"""Cause: layer. The module `context`, a full-resolution 9x9 convolution, does over nine tenths of the model's multiplications; the stem, the gate and the head are 1x1 or 3x3 on few channels.

Trains a flood-extent segmenter on synthetic radar chips.
"""

import argparse
import logging
import sys

import torch
import yaml
from torch import nn
from torch.nn import functional as F

log = logging.getLogger("flood")

DEFAULTS = """
chips: {count: 20, side: 96, bands: 2}
model: {width: 64, reach: 9}
train: {batch: 4, epochs: 3, lr: 0.01, threads: 1, seed: 21}
"""


class ChannelGate(nn.Module):
    """Squeeze and excite."""

    def __init__(self, width):
        super().__init__()
        self.down = nn.Linear(width, width // 4)
        self.up = nn.Linear(width // 4, width)

    def forward(self, maps):
        weights = maps.mean(dim=(2, 3))
        weights = torch.sigmoid(self.up(F.relu(self.down(weights))))
        return maps * weights[:, :, None, None]


class FloodNet(nn.Module):
    def __init__(self, bands, width, reach):
        super().__init__()
        self.stem = nn.Conv2d(bands, width, 3, padding=1)
        self.context = nn.Conv2d(width, width, reach, padding=reach // 2, bias=False)
        self.gate = ChannelGate(width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, chips):
        maps = F.relu(self.stem(chips))
        maps = maps + F.relu(self.context(maps))
        return self.head(self.gate(maps)).squeeze(1)


def make_chips(count, side, bands, seed):
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.randn(count, 1, side // 16, side // 16, generator=generator)
    terrain = F.interpolate(coarse, size=(side, side), mode="bilinear", align_corners=False)
    masks = (terrain.squeeze(1) < -0.1).float()
    noise = 0.4 * torch.randn(count, bands, side, side, generator=generator)
    return terrain.expand(-1, bands, -1, -1) + noise, masks


def batches(chips, masks, size, generator):
    order = torch.randperm(len(chips), generator=generator)
    for start in range(0, len(order), size):
        picked = order[start : start + size]
        yield chips[picked], masks[picked]


def overlap(scores, masks):
    found = scores > 0
    wanted = masks > 0.5
    union = (found | wanted).sum().item()
    return (found & wanted).sum().item() / max(union, 1)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.history = []

    def step(self, chips, masks):
        self.optimizer.zero_grad(set_to_none=True)
        scores = self.model(chips)
        loss = F.binary_cross_entropy_with_logits(scores, masks)
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())
        return overlap(scores.detach(), masks)


def load_config(path):
    config = yaml.safe_load(DEFAULTS)
    if path:
        with open(path) as handle:
            for section, values in (yaml.safe_load(handle) or {}).items():
                config[section].update(values)
    return config


def main(argv=None):
    parser = argparse.ArgumentParser(description="flood masks")
    parser.add_argument("--config", help="YAML file that overrides the defaults")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    config = load_config(args.config)
    settings = config["train"]
    torch.manual_seed(settings["seed"])
    torch.set_num_threads(settings["threads"])

    chips, masks = make_chips(**config["chips"], seed=settings["seed"])
    model = FloodNet(config["chips"]["bands"], **config["model"])
    log.info("%d parameters", sum(p.numel() for p in model.parameters()))
    trainer = Trainer(model, settings["lr"])
    generator = torch.Generator().manual_seed(settings["seed"])
    for epoch in range(settings["epochs"]):
        scores = [trainer.step(*pair) for pair in batches(chips, masks, settings["batch"], generator)]
        print(f"epoch {epoch}: loss {trainer.history[-1]:.4f} overlap {sum(scores) / len(scores):.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
