# SPDX-License-Identifier: Apache-2.0
"""Cause: network. Quotes are requested one at a time over HTTP from a server in a child process that answers each only after some 14 ms, so the client waits in the socket's recv nearly all of the time.

Collects option quotes from a local pricing gateway and fits a smile.
"""

import argparse
import contextlib
import http.client
import json
import logging
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer

log = logging.getLogger("quotes")


class Gateway(BaseHTTPRequestHandler):
    """Stands in for the vendor's gateway."""

    protocol_version = "HTTP/1.1"
    latency = 0.014
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        strike = float(self.path.rsplit("/", 1)[-1])
        time.sleep(self.latency)
        vol = 0.2 + 0.1 * (math.log(strike / 100.0)) ** 2
        body = json.dumps({"strike": strike, "vol": vol}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *args):
        pass


def serve():
    server = HTTPServer(("127.0.0.1", 0), Gateway)
    print(server.server_address[1], flush=True)
    server.serve_forever()


@contextlib.contextmanager
def gateway():
    child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        yield int(child.stdout.readline())
    finally:
        child.terminate()
        child.wait()


@dataclass
class Quote:
    strike: float
    vol: float

    @property
    def moneyness(self):
        return math.log(self.strike / 100.0)


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def fetch(self, strike):
        self.connection.request("GET", f"/quote/{strike:.3f}")
        answer = self.connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"gateway said {answer.status}")
        return Quote(**json.loads(answer.read()))

    def close(self):
        self.connection.close()


def fit_smile(quotes):
    """Least squares of vol on squared moneyness."""
    xs = [q.moneyness**2 for q in quotes]
    ys = [q.vol for q in quotes]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)
    return my - slope * mx, slope


def collect(client, strikes, every):
    quotes = []
    for number, strike in enumerate(strikes, 1):
        quotes.append(client.fetch(strike))
        if number % every == 0:
            base, slope = fit_smile(quotes)
            log.info("%d quotes, base %.4f slope %.4f", number, base, slope)
    return quotes


def main(argv=None):
    parser = argparse.ArgumentParser(description="collect quotes")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quotes", type=int, default=480)
    args = parser.parse_args(argv)
    if args.serve:
        serve()
        return 0
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    strikes = [60.0 + 90.0 * n / args.quotes for n in range(args.quotes)]
    with gateway() as port:
        client = Client(port)
        quotes = collect(client, strikes, every=80)
        client.close()
    base, slope = fit_smile(quotes)
    print(f"{len(quotes)} quotes: base {base:.4f}, slope {slope:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
