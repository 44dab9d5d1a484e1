"""A static web server for the built site, on this machine only, like any plain host that says how long files hold."""

import argparse
import errno
import os
import re
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

HOST = "127.0.0.1"
OK = 200
NOT_FOUND = 404
NOT_MODIFIED = 304
ERROR_STATUS = 400
ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""What the build packed ahead, best first: the name in the protocol, and the ending of such a file."""

VERSIONED = re.compile(r"/(assets|vendor)/[0-9a-f]{12}/")
"""In addresses that the build made from contents: what they give never changes."""
FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
"""Browsers check for a newer version: the site may be built again while it is served."""

TYPES = {
    "": "application/octet-stream",
    ".css": "text/css",
    ".gz": "application/gzip",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".mjs": "text/javascript",
    ".png": "image/png",
    ".py": "text/x-python; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".zip": "application/zip",
}


class Handler(SimpleHTTPRequestHandler):
    """Sends files with the right types, lists no folders, and logs only what went wrong."""

    protocol_version = "HTTP/1.1"
    extensions_map = TYPES
    cache_control = ASK_AGAIN

    def send_head(self) -> BinaryIO | None:
        """The file for the address, packed if the build packed it and the browser takes that; 304 if it has it."""
        self.cache_control = ASK_AGAIN
        path = Path(self.translate_path(self.path))
        if path.is_dir() and urlsplit(self.path).path.endswith("/"):
            path /= "index.html"
        if not path.is_file():
            return super().send_head()
        accepted = {item.partition(";")[0].strip() for item in self.headers.get("Accept-Encoding", "").split(",")}
        packed = {name: path.with_name(path.name + ending) for name, ending in ENCODINGS.items()}
        encoding = next((name for name, file in packed.items() if name in accepted and file.is_file()), "")
        return self._send(packed.get(encoding, path), self.guess_type(str(path)), encoding)

    def _send(self, path: Path, kind: str, encoding: str) -> BinaryIO | None:
        file = path.open("rb")
        self.cache_control = FOR_EVER if VERSIONED.search(urlsplit(self.path).path) else ASK_AGAIN
        status = os.fstat(file.fileno())
        tag = f'"{status.st_mtime_ns:x}-{status.st_size:x}-{encoding}"'
        is_known = self.headers.get("If-None-Match") == tag
        self.send_response(NOT_MODIFIED if is_known else OK)
        self.send_header("ETag", tag)
        self.send_header("Vary", "Accept-Encoding")
        if is_known:
            file.close()
        else:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(status.st_size))
            if encoding:
                self.send_header("Content-Encoding", encoding)
        self.end_headers()
        return None if is_known else file

    def end_headers(self) -> None:
        """Says how long the answer holds."""
        self.send_header("Cache-Control", self.cache_control)
        super().end_headers()

    def list_directory(self, path: str | os.PathLike[str]) -> None:  # noqa: ARG002 the base class's signature
        """A folder without an index page is not found."""
        self.send_error(NOT_FOUND)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Only errors are worth a line."""
        if isinstance(code, int) and code >= ERROR_STATUS:
            super().log_request(int(code), size)

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002 the base class's signature
        """Nothing: `log_request` has already said it."""


class Server(ThreadingHTTPServer):
    """Serves one folder; port 0 takes a free port."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        super().__init__((HOST, port), partial(Handler, directory=str(folder)))

    @property
    def url(self) -> str:
        """The address of the folder, ending in a slash."""
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def open_server(folder: Path, port: int) -> Server:
    """The server, or exit with one line that says why there is none."""
    if not (folder / "index.html").is_file():
        sys.exit(f"batchloom: there is no built site in {folder}: run make build")
    try:
        return Server(folder, port)
    except OverflowError:
        sys.exit(f"batchloom: {port} is not a port: take one from 1 to 65535")
    except PermissionError:
        sys.exit(f"batchloom: port {port} is reserved: take another one, make serve PORT=8000")
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        sys.exit(f"batchloom: port {port} is in use: take another one, make serve PORT={port + 1}")


def main() -> None:
    """Serves until Ctrl+C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("dist"))
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    with open_server(arguments.folder, arguments.port) as server:
        print(f"Batchloom is at {server.url} (Ctrl+C stops it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
