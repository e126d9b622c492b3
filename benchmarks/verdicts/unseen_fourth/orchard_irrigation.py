# SPDX-License-Identifier: Apache-2.0
"""Cause: event_loop. All tasks wait in the loop for a radio gateway that answers one request after the other.

Plans the night's watering of an orchard: every row of trees has a soil probe, whose last readings a task fetches
several times through the orchard's one gateway; from the dried-out depth of the soil follow the minutes of water.
The gateway is a process of its own, reached on 127.0.0.1.
"""

import argparse
import asyncio
import json
import math
import random
import socketserver
import subprocess
import sys
import time
from dataclasses import dataclass, field

import numpy as np


class ProbeRequest(socketserver.StreamRequestHandler):
    """One telegram: the number of a probe comes in, its last readings go out."""

    def handle(self):
        question = json.loads(self.rfile.readline())
        source = random.Random(f"{question['row']}/{question['round']}")
        time.sleep(self.server.airtime)
        level = source.uniform(18, 34)
        readings = []
        for hour in range(question["hours"]):
            level += source.gauss(-0.03, 0.2)
            readings.append(round(level + 1.5 * math.sin(hour * math.pi / 12), 2))
        self.wfile.write(json.dumps({"row": question["row"], "moisture": readings}).encode() + b"\n")


class Gateway(socketserver.TCPServer):
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, airtime):
        super().__init__(("127.0.0.1", 0), ProbeRequest)
        self.airtime = airtime


@dataclass
class RowPlan:
    row: int
    deficits: list = field(default_factory=list)

    @property
    def minutes(self):
        return round(4.5 * sum(self.deficits) / len(self.deficits), 1)


def smooth(readings, weight):
    """The readings smoothed from both ends twice, so that nothing is shifted."""
    for _ in range(4):
        value = readings[0]
        smoothed = []
        for reading in readings:
            value += weight * (reading - value)
            smoothed.append(value)
        readings = smoothed[::-1]
    return readings


def water_deficit(moisture, wanted):
    calm = np.array(smooth(moisture, 0.2))
    hours = np.arange(len(calm))
    slope, start = np.polyfit(hours, calm, 1)
    by_tomorrow = start + slope * (len(calm) + 24)
    return max(0.0, wanted - by_tomorrow)


async def ask_gateway(port, row, turn, hours):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(json.dumps({"row": row, "round": turn, "hours": hours}).encode() + b"\n")
    await writer.drain()
    answer = json.loads(await reader.readline())
    writer.close()
    await writer.wait_closed()
    return answer["moisture"]


async def plan_row(port, row, rounds, hours, wanted):
    plan = RowPlan(row)
    for turn in range(rounds):
        moisture = await ask_gateway(port, row, turn, hours)
        plan.deficits.append(water_deficit(moisture, wanted))
    return plan


async def plan_orchard(port, rows, rounds, hours, wanted):
    return await asyncio.gather(*(plan_row(port, row, rounds, hours, wanted) for row in range(rows)))


def main():
    parser = argparse.ArgumentParser(description="plan the watering of an orchard")
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=14, help="readings of each row's probe")
    parser.add_argument("--hours", type=int, default=2400, help="hours of history in one reading")
    parser.add_argument("--wanted", type=float, default=30.0, help="moisture in per cent")
    parser.add_argument("--airtime", type=float, default=0.012, help="seconds of radio per telegram")
    parser.add_argument("--gateway", action="store_true", help="be the gateway")
    args = parser.parse_args()

    if args.gateway:
        with Gateway(args.airtime) as gateway:
            print(gateway.server_address[1], flush=True)
            gateway.serve_forever()
        return
    command = [sys.executable, __file__, "--gateway", "--airtime", str(args.airtime)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as gateway:
        try:
            port = int(gateway.stdout.readline())
            began = time.perf_counter()
            plans = asyncio.run(plan_orchard(port, args.rows, args.rounds, args.hours, args.wanted))
            took = time.perf_counter() - began
        finally:
            gateway.terminate()
    thirsty = sorted(plans, key=lambda plan: plan.minutes, reverse=True)[:5]
    for plan in thirsty:
        print(f"row {plan.row}: {plan.minutes} minutes")
    print(f"{args.rows * args.rounds} readings in {took:.1f} s")


if __name__ == "__main__":
    main()
