# SPDX-License-Identifier: Apache-2.0
"""Cause: layer. The matched filter, a convolution 601 samples wide, computes far more than all other layers together.

Trains a picker that tells where in a three-component seismogram the P wave arrives. The net is a common small stack of
convolutions with one very wide filter in its middle.
"""

import argparse
import time

import torch
from torch import nn


class Picker(nn.Module):
    def __init__(self, channels, reach):
        super().__init__()
        self.condition = nn.Sequential(
            nn.Conv1d(3, channels, 7, stride=2, padding=3),
            nn.ReLU(),
        )
        self.matched_filter = nn.Conv1d(channels, channels, 2 * reach + 1, padding=reach)
        self.refine = nn.Sequential(
            nn.ReLU(),
            nn.Conv1d(channels, 16, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(16, 8, 3, padding=1),
            nn.ReLU(),
        )
        self.score = nn.Conv1d(8, 1, 1)

    def forward(self, traces):
        features = self.condition(traces)
        features = self.matched_filter(features)
        return self.score(self.refine(features)).squeeze(1)


def synthesize(count, samples, generator):
    """Noise with a decaying wavelet from the arrival on; and the arrivals, in samples."""
    arrivals = torch.randint(samples // 8, samples * 3 // 4, (count,), generator=generator)
    traces = 0.2 * torch.randn(count, 3, samples, generator=generator)
    clock = torch.arange(samples)[None, :] - arrivals[:, None]
    wavelet = torch.where(clock >= 0, torch.sin(clock * 0.35) * torch.exp(-clock.clamp(min=0) / 150), 0.0)
    strength = 0.5 + torch.rand(count, 3, generator=generator)
    return traces + strength[:, :, None] * wavelet[:, None, :], arrivals


def train(model, traces, arrivals, epochs, batch, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        began = time.perf_counter()
        total = 0.0
        order = torch.randperm(len(traces))
        for chosen in order.split(batch):
            optimizer.zero_grad()
            loss = loss_of(model(traces[chosen]), arrivals[chosen] // 2)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(chosen)
        print(f"epoch {epoch}: loss {total / len(traces):.3f}  {time.perf_counter() - began:.1f} s")


@torch.no_grad()
def error_of(model, traces, arrivals):
    picks = 2 * model(traces).argmax(dim=1)
    return (picks - arrivals).abs().float().median().item()


def main():
    parser = argparse.ArgumentParser(description="train a picker of P arrivals")
    parser.add_argument("--events", type=int, default=40)
    parser.add_argument("--samples", type=int, default=2048)
    parser.add_argument("--channels", type=int, default=24)
    parser.add_argument("--reach", type=int, default=300, help="samples the matched filter sees to each side")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=1, help="of torch; the other core is left to others")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(5)
    generator = torch.Generator().manual_seed(17)
    traces, arrivals = synthesize(args.events, args.samples, generator)
    model = Picker(args.channels, args.reach)
    train(model, traces, arrivals, args.epochs, args.batch, args.rate)
    print(f"median error of 16 picks: {error_of(model, traces[:16], arrivals[:16]):.0f} samples")


if __name__ == "__main__":
    main()
