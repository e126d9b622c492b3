# SPDX-License-Identifier: Apache-2.0
"""Cause: input. The model is a tiny classifier on 64x64 thumbnails, but each sample is an inflated 1024x1024 16-bit film that the single loader worker must decompress, denoise and shrink, so the training loop waits for every batch.

Trains a small triage classifier on a folder of synthetic radiographs.
"""

import argparse
import json
import logging
import shutil
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy import ndimage
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("chest_films")


@dataclass
class Config:
    films: int = 24
    side: int = 1024
    thumb: int = 64
    batch_size: int = 8
    epochs: int = 6
    workers: int = 1
    lr: float = 0.02
    seed: int = 7


def write_archive(folder: Path, cfg: Config) -> Path:
    """Writes compressed films and an index, as the archive exporter would."""
    rng = np.random.default_rng(cfg.seed)
    yy, xx = np.mgrid[0 : cfg.side, 0 : cfg.side].astype(np.float32) / cfg.side
    base = 2000 * np.exp(-((xx - 0.5) ** 2 + (yy - 0.5) ** 2) * 6)
    grain = rng.integers(0, 60, size=(cfg.side, cfg.side), dtype=np.uint16)
    index = []
    for number in range(cfg.films):
        label = number % 2
        film = base + np.roll(grain, number * 37, axis=1)
        if label:
            cx, cy = rng.uniform(0.3, 0.7, size=2)
            film = film + 900 * np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) * 200)
        name = f"film_{number:04d}.z"
        (folder / name).write_bytes(zlib.compress(film.astype(np.uint16).tobytes(), 1))
        index.append({"file": name, "label": label})
    path = folder / "index.json"
    path.write_text(json.dumps(index))
    return path


class FilmFolder(Dataset):
    def __init__(self, index: Path, cfg: Config):
        self.root = index.parent
        self.items = json.loads(index.read_text())
        self.cfg = cfg

    def __len__(self):
        return len(self.items)

    def __getitem__(self, position):
        item = self.items[position]
        raw = zlib.decompress((self.root / item["file"]).read_bytes())
        film = np.frombuffer(raw, dtype=np.uint16).reshape(self.cfg.side, self.cfg.side)
        film = ndimage.gaussian_filter(film.astype(np.float32), 2.0)
        thumb = ndimage.zoom(film, self.cfg.thumb / self.cfg.side, order=1)
        thumb = (thumb - thumb.mean()) / (thumb.std() + 1e-6)
        return torch.from_numpy(thumb).unsqueeze(0), item["label"]


class Triage(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
        )
        self.head = nn.Linear(16 * 16, 2)

    def forward(self, films):
        return self.head(self.features(films).flatten(1))


def run_epoch(model, loader, optimizer):
    criterion = nn.CrossEntropyLoss()
    total, right, seen = 0.0, 0, 0
    for films, labels in loader:
        optimizer.zero_grad(set_to_none=True)
        scores = model(films)
        loss = criterion(scores, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        right += int((scores.argmax(1) == labels).sum())
        seen += len(labels)
    return total / seen, right / seen


def parse_args(argv):
    parser = argparse.ArgumentParser(description="radiograph triage")
    for name, value in vars(Config()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return Config(**vars(parser.parse_args(argv)))


def main(argv=None):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    cfg = parse_args(argv)
    torch.manual_seed(cfg.seed)
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="films_"))
    try:
        index = write_archive(folder, cfg)
        data = FilmFolder(index, cfg)
        log.info("archive holds %d films", len(data))
        loader = DataLoader(
            data, batch_size=cfg.batch_size, shuffle=True, num_workers=cfg.workers, persistent_workers=cfg.workers > 0
        )
        model = Triage()
        optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
        for epoch in range(cfg.epochs):
            loss, accuracy = run_epoch(model, loader, optimizer)
            print(f"epoch {epoch} loss {loss:.4f} accuracy {accuracy:.2f}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
