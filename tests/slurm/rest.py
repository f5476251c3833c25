"""slurmrestd for tests: the real one beside an emulated Slurm, and one that answers what was recorded."""

from __future__ import annotations

import json
import socketserver
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.slurm.cluster import STARTUP, EmulatedSlurm


@contextmanager
def slurmrestd(slurm: EmulatedSlurm, data_parser: str = "v0.0.42") -> Iterator[Path]:
    """The socket on which the slurmrestd of a release answers."""
    path = slurm.folder / "rest.socket"
    serves = ("-s", "openapi/v0.0.38") if slurm.release.version < (23, 11) else ("-s", "slurmctld", "-d", data_parser)
    command = ["slurmrestd", "-f", str(slurm.conf), "-a", "rest_auth/local", *serves, f"unix:{path}"]
    environment = {**slurm.environment, "SLURMRESTD_SECURITY": "disable_user_check"}
    with open(slurm.folder / "rest.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            slurm.wait(lambda: path.is_socket() or process.poll() is not None, "slurmrestd listens")
            assert process.poll() is None, (slurm.folder / "rest.log").read_text()
            yield path
        finally:
            process.terminate()
            process.wait(STARTUP)


@contextmanager
def answering(path: Path, version: str, answers: Mapping[str, Any]) -> Iterator[Path]:
    """A socket that answers documents, or texts, by their names; one version is known, and all else is not found."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answers.get(self.path.removeprefix(f"/slurm/{version}/"))
            body = (found if isinstance(found, str) else json.dumps(found)).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "local"

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    with socketserver.UnixStreamServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield path
        finally:
            server.shutdown()
            thread.join()
