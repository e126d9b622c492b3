# SPDX-License-Identifier: Apache-2.0
"""Cause: network. Each item is asked of a slow service, a process of its own."""

import multiprocessing
import socket
import time

server = socket.create_server(("127.0.0.1", 0))


def serve():
    connection, _ = server.accept()
    while connection.recv(64):
        time.sleep(0.02)
        connection.sendall(b"answer")


multiprocessing.get_context("fork").Process(target=serve, daemon=True).start()
client = socket.create_connection(server.getsockname())
for _ in range(100):
    client.sendall(b"question")
    client.recv(64)
client.close()
