# SPDX-License-Identifier: Apache-2.0
"""Cause: device_idle. What a recogniser of speech hears is compared letter by letter with the truth, in Python."""

import random

import torch
from torch import nn

BATCH, FRAMES, BATCHES = 48, 90, 100


def distance(heard, truth):
    previous = list(range(len(truth) + 1))
    for row, letter in enumerate(heard, 1):
        current = [row]
        for column, other in enumerate(truth, 1):
            cost = previous[column - 1] + (letter != other)
            current.append(min(cost, previous[column] + 1, current[-1] + 1))
        previous = current
    return previous[-1]


def collapsed(path, blank=0):
    return [letter for letter, last in zip(path, [blank, *path]) if letter not in (blank, last)]


model = nn.Sequential(nn.Conv1d(80, 512, 5, padding=2), nn.ReLU(), nn.Conv1d(512, 30, 1)).to("cuda").eval()
sounds = torch.randn(BATCHES, BATCH, 80, FRAMES, device="cuda")
truths = [[random.choices(range(1, 30), k=60) for _ in range(BATCH)] for _ in range(BATCHES)]
errors = letters = 0
with torch.no_grad():
    for sound, texts in zip(sounds, truths):
        paths = model(sound).argmax(1).tolist()
        for path, text in zip(paths, texts):
            errors += distance(collapsed(path), text)
            letters += len(text)
print(f"character error rate {errors / letters:.3f}")
