# SPDX-License-Identifier: Apache-2.0
"""Cause: input. A small forecaster is trained on windows that a feed cuts out of a pandas table, store by store, in the training thread."""

import numpy as np
import pandas as pd
import torch
from torch import nn

DAYS, STORES, HISTORY = 300, 120, 28


def load_sales(seed=7):
    rng = np.random.default_rng(seed)
    store = np.repeat(np.arange(STORES), DAYS)
    day = np.tile(np.arange(DAYS), STORES)
    season = 20 + 5 * np.sin(2 * np.pi * day / 7 + store)
    return pd.DataFrame({"store": store, "day": day, "sold": season + rng.normal(0, 1, season.size)})


class WindowFeed:
    """Hands out (features, target) pairs; one row per sampled store."""

    def __init__(self, sales, rows, total):
        self.sales, self.rows, self.left = sales, rows, total
        self.rng = np.random.default_rng(1)

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        stores = self.rng.integers(0, STORES, self.rows)
        ends = self.rng.integers(HISTORY + 7, DAYS - 1, self.rows)
        pairs = [self._window(int(s), int(e)) for s, e in zip(stores, ends)]
        x, y = zip(*pairs)
        return torch.tensor(np.stack(x), dtype=torch.float32), torch.tensor(y, dtype=torch.float32)

    def _window(self, store, end):
        past = self.sales[(self.sales["store"] == store) & (self.sales["day"] <= end)]
        smooth = past["sold"].rolling(7).mean().iloc[-HISTORY - 1 : -1]
        return smooth.to_numpy() / 20.0, float(past["sold"].iloc[-1]) / 20.0


def fit(feed):
    net = nn.Sequential(nn.Linear(HISTORY, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    loss = None
    for x, y in feed:
        loss = nn.functional.mse_loss(net(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(f"final loss {fit(WindowFeed(load_sales(), rows=64, total=48)):.4f}")
