# SPDX-License-Identifier: Apache-2.0
"""Cause: network. A service behind a socket takes its time to say how good the answers of a policy are."""

import json
import socket
import subprocess
import sys

import torch
from torch import nn

SERVICE = """
import json, socketserver, time

class Judge(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            answers = json.loads(line)
            time.sleep(0.05)
            rewards = [len(set(answer)) / len(answer) for answer in answers]
            self.wfile.write(json.dumps(rewards).encode() + b"\\n")

with socketserver.TCPServer(("127.0.0.1", 0), Judge) as server:
    print(server.server_address[1], flush=True)
    server.handle_request()
"""

policy = nn.Sequential(nn.Embedding(1000, 512), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 1000)).to("cuda")
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-4)
prompts = torch.randint(1000, (32, 24), device="cuda")
with subprocess.Popen([sys.executable, "-c", SERVICE], stdout=subprocess.PIPE, text=True) as service:
    port = int(service.stdout.readline())
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rwb") as judge:
        for _ in range(75):
            logits = policy(prompts)
            answers = torch.multinomial(logits.detach().flatten(0, 1).softmax(-1), 1).view(32, 24)
            judge.write(json.dumps(answers.tolist()).encode() + b"\n")
            judge.flush()
            rewards = torch.tensor(json.loads(judge.readline()), device="cuda")
            chances = logits.log_softmax(-1).gather(-1, answers[..., None]).squeeze(-1).sum(-1)
            optimizer.zero_grad()
            (-(rewards - rewards.mean()) * chances).mean().backward()
            optimizer.step()
print(rewards.mean().item())
