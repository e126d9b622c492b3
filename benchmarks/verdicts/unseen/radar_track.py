# SPDX-License-Identifier: Apache-2.0
"""Cause: small_work. A Kalman filter follows one radar target with torch operators on matrices of four rows."""

import math
from dataclasses import dataclass, field

import torch

DT = 0.1


def motion():
    f = torch.eye(4)
    f[0, 2] = f[1, 3] = DT
    return f


@dataclass
class Track:
    x: torch.Tensor = field(default_factory=lambda: torch.zeros(4, 1))
    p: torch.Tensor = field(default_factory=lambda: torch.eye(4) * 50.0)
    f: torch.Tensor = field(default_factory=motion)
    h: torch.Tensor = field(default_factory=lambda: torch.eye(2, 4))
    q: torch.Tensor = field(default_factory=lambda: torch.eye(4) * 0.02)
    r: torch.Tensor = field(default_factory=lambda: torch.eye(2) * 4.0)

    def predict(self):
        self.x = torch.mm(self.f, self.x)
        self.p = torch.addmm(self.q, torch.mm(self.f, self.p), self.f.t())

    def correct(self, z):
        ph = torch.mm(self.p, self.h.t())
        gain = torch.mm(ph, torch.linalg.inv(torch.addmm(self.r, self.h, ph)))
        self.x = torch.addmm(self.x, gain, torch.sub(z, torch.mm(self.h, self.x)))
        keep = torch.sub(torch.eye(4), torch.mm(gain, self.h))
        noise = torch.mm(torch.mm(gain, self.r), gain.t())
        self.p = torch.addmm(noise, torch.mm(keep, self.p), keep.t())


def plots(count):
    """Noisy positions of a target that flies a wide circle."""
    angle = torch.arange(count) * (2 * math.pi / 5000)
    path = torch.stack([angle.cos(), angle.sin()], dim=1) * 800.0
    return (path + torch.randn(count, 2) * 2.0).unsqueeze(2).unbind(0)


@torch.inference_mode()
def follow(count=50_000):
    torch.manual_seed(3)
    track = Track()
    for z in plots(count):
        track.predict()
        track.correct(z)
    return track.x.flatten().tolist()


if __name__ == "__main__":
    print("state", [round(v, 1) for v in follow()])
