"""A connection between two hosts that is not what it should be, with seeded faults.

    with Proxy(server.port, "cut", seed=1) as proxy:
        subprocess.run(["curl", f"http://127.0.0.1:{proxy.port}/"])

Faults: `cut` closes connections in the middle of an answer, `slow` lets every piece wait, `stall` says
nothing more on some connections, `wrong` changes bytes of answers, `refuse` closes every connection at
once, `error` answers 500. `none` forwards everything. Bytes are forwarded as they are, so that signatures
of requests stay valid.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time

FAULTS = ["none", "cut", "slow", "stall", "wrong", "refuse", "error"]
SHARE = 0.3
PIECE = 1 << 14


class Proxy:
    def __init__(self, port: int, fault: str, seed: int) -> None:
        assert fault in FAULTS, fault
        self.upstream, self.fault, self.random = port, fault, random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.is_over = threading.Event()
        self.connections = 0

    def __enter__(self) -> Proxy:
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.listener.close()

    def accept(self) -> None:
        while not self.is_over.is_set():
            with contextlib.suppress(OSError):
                client, _ = self.listener.accept()
                self.connections += 1
                chosen, after = self.random.random() < SHARE, self.random.randrange(1, 60_000)
                threading.Thread(target=self.serve, args=(client, chosen, after), daemon=True).start()

    def serve(self, client: socket.socket, chosen: bool, after: int) -> None:
        with client, contextlib.suppress(OSError):
            if self.fault == "refuse":
                return
            if self.fault == "error":
                client.recv(PIECE)
                client.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", self.upstream)) as server:
                threading.Thread(target=copy, args=(client, server), daemon=True).start()
                self.answer(server, client, chosen, after)

    def answer(self, server: socket.socket, client: socket.socket, chosen: bool, after: int) -> None:
        sent = 0
        while piece := server.recv(PIECE):
            if self.fault == "slow":
                time.sleep(0.2)
            if chosen and sent + len(piece) > after and self.fault in ("cut", "stall", "wrong"):
                at = after - sent
                if self.fault == "wrong":
                    # Not in the head of an answer: that would be another fault.
                    body = piece.find(b"\r\n\r\n") + 4 if piece.startswith(b"HTTP/") else 0
                    at = max(at, body)
                    if at < len(piece):
                        piece = piece[:at] + bytes([piece[at] ^ 1]) + piece[at + 1 :]
                        chosen = False
                else:
                    client.sendall(piece[:at])
                    if self.fault == "stall":
                        self.is_over.wait(60)
                    return
            client.sendall(piece)
            sent += len(piece)


def copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
