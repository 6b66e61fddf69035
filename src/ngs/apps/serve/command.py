"""`ngs serve`: the playground, on one's own machine."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ngs.apps import give_back
from ngs.console.options import option, with_options
from ngs.errors import NGSError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ngs.tasks.playground.visitors import Visitors

CONNECTIONS = 1000  # at once; above, 503


@dataclass(frozen=True)
class Options:
    """How the playground is served."""

    task: list[str] | None = option(
        None, "The file of a task of your own, to show its runs; may be given several times.", metavar="FILE"
    )
    runs: Path = option(Path("runs"), "Folder whose runs are shown.")
    results: Path = option(Path("docs/results"), "Folder with results of `ngs reproduce`.")
    host: str = option(
        "127.0.0.1", "Address to listen on; 0.0.0.0 lets everyone in who can reach this machine."
    )
    port: int = option(8000, "Port to listen on; 0: any free one.", min=0, max=65535)
    name: list[str] | None = option(
        None, "Another name that this server is asked by; may be given several times."
    )
    open_page: bool = option(False, "Also open it in a browser.", "--open/--no-open")


@partial(with_options, configuration=Options)
def serve(
    asked: Options,
    run: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Folders of runs to try the networks of, one of a task; by default those in --runs that "
            "finished last.",
        ),
    ] = None,
) -> None:
    """Open a page to try what networks have learned, correct them, and watch runs.

    Where no run has finished yet, the page offers to train a first network, into --runs.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise NGSError(
            f"the playground needs FastAPI and Uvicorn, and {error.name} is missing; "
            f"install them, in the folder of the repository: pip install -e '.[serve]'"
        ) from None
    from ngs.apps.serve.front import front
    from ngs.apps.serve.guard import names_of
    from ngs.tasks.playground.visitors import Visitors

    give_back()
    listening = listen(asked.host, asked.port)
    visitors = Visitors()
    endpoints = ThreadPoolExecutor(1).submit(loaded, asked, run or (), visitors)
    config = uvicorn.Config(  # it tells little of itself and of who asks it
        front(visitors, names_of(asked.host, asked.name or ()), endpoints),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,  # pages that watch a curve would never go
    )
    server = uvicorn.Server(config)

    def end_if_failed(done: Future[FastAPI]) -> None:
        if done.exception():
            server.should_exit = True

    endpoints.add_done_callback(end_if_failed)
    url = address(listening)
    typer.echo(f"the playground is at {url} (stop it with Ctrl-C)")
    if asked.open_page:
        threading.Timer(0.5, webbrowser.open, [url]).start()  # by then it answers
    server.run(sockets=[listening])
    endpoints.result()  # why it could not be loaded, if so


def loaded(asked: Options, given: Iterable[Path], visitors: Visitors) -> FastAPI:
    """The endpoints of a playground. The page is there already: this takes seconds."""
    import torch

    from ngs.apps.serve.app import endpoints
    from ngs.apps.serve.playground import Playground
    from ngs.tasks.finding import find

    torch.set_num_threads(1)  # of each request: several are computed at once
    playground = Playground(asked.runs, asked.results, list(map(find, asked.task or ())), visitors)
    playground.load(given)
    app = endpoints(playground)
    for line in playground.missing():
        typer.echo(line)
    threading.Thread(target=playground.prepare, daemon=True).start()
    return app


def listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise NGSError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}; give another --host or --port"
        ) from None


def address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
