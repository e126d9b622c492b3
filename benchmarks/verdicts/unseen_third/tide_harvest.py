# SPDX-License-Identifier: Apache-2.0
"""Cause: network. One client asks a slow gauge server for day after day, one request at a time, and waits for each.

Harvests hourly water levels of a few tide gauges over HTTP and fits the main lunar tide to each. The server is a
process of its own on the loopback interface that answers as late as the agency's real one does.
"""

import argparse
import http.client
import json
import math
import multiprocessing
import random
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

M2_HOURS = 12.4206
GAUGES = {"northquay": (1.9, 0.4), "saltmouth": (2.6, 1.7), "heron_point": (0.8, 2.9)}


class GaugeHandler(BaseHTTPRequestHandler):
    """Answers /levels?gauge=NAME&day=N with 24 levels."""

    protocol_version = "HTTP/1.1"
    latency = 0.09

    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        gauge, day = query["gauge"][0], int(query["day"][0])
        amplitude, phase = GAUGES[gauge]
        noise = random.Random(f"{gauge}{day}")
        levels = [
            amplitude * math.cos(2 * math.pi * hour / M2_HOURS - phase) + noise.gauss(0, 0.05)
            for hour in range(24 * day, 24 * day + 24)
        ]
        body = json.dumps({"gauge": gauge, "day": day, "levels": levels}).encode()
        time.sleep(self.latency)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(latency, ports):
    GaugeHandler.latency = latency
    server = HTTPServer(("127.0.0.1", 0), GaugeHandler)
    ports.put(server.server_address[1])
    server.serve_forever()


def fetch_day(connection, gauge, day):
    connection.request("GET", "/levels?" + urlencode({"gauge": gauge, "day": day}))
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise RuntimeError(f"{gauge} day {day}: status {response.status}")
    return json.loads(body)["levels"]


def fit_tide(levels):
    """Amplitude and phase of the M2 constituent."""
    real = imaginary = 0.0
    for hour, level in enumerate(levels):
        angle = 2 * math.pi * hour / M2_HOURS
        real += level * math.cos(angle)
        imaginary += level * math.sin(angle)
    return 2 * math.hypot(real, imaginary) / len(levels), math.atan2(imaginary, real)


def harvest(port, days):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        for gauge in GAUGES:
            levels = []
            for day in range(days):
                levels.extend(fetch_day(connection, gauge, day))
            amplitude, phase = fit_tide(levels)
            print(f"{gauge:12s} {len(levels):4d} levels  M2 amplitude {amplitude:.3f} m  phase {phase:+.2f} rad")
    finally:
        connection.close()


def main():
    parser = argparse.ArgumentParser(description="harvest tide gauges")
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.09, help="seconds the server takes for an answer")
    args = parser.parse_args()

    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    server = context.Process(target=serve, args=(args.latency, ports), daemon=True)
    server.start()
    try:
        port = ports.get(timeout=20)
        began = time.perf_counter()
        harvest(port, args.days)
        print(f"harvested in {time.perf_counter() - began:.1f} s")
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
