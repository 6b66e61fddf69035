"""The web application of the playground: its page, its JSON endpoints, and how they fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from ngs.apps.serve.asking_api import asking_router
from ngs.apps.serve.drawing_api import drawing_router
from ngs.apps.serve.guard import Guard, Names, local, refusal
from ngs.apps.serve.limits import Busy
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.runs_api import runs_router
from ngs.apps.serve.status_api import status_router
from ngs.apps.serve.visitors import Visitor, current_visitor
from ngs.errors import NGSError

STATIC = Path(__file__).parent / "static"
ABOUT = """
Read, correct and learn handwritten formulas; answer questions about scenes; follow runs.

Every refusal is `{"error": "what was given, what is needed, what to do"}` with a status of 4xx, or 503
where too many compute at once: then try again. Each visitor, known by a cookie, learns apart from others.
"""


def create_app(playground: Playground, names: Names = local) -> FastAPI:
    """The application; it answers only where it is asked by one of `names`."""
    app = FastAPI(
        title="NGS playground",
        description=ABOUT,
        version=version("ngs"),
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.playground = playground
    for router in (status_router, drawing_router, asking_router, runs_router):
        app.include_router(router(playground))

    @app.get("/", include_in_schema=False)
    def page(visitor: Annotated[Visitor, Depends(current_visitor)], response: Response) -> FileResponse:
        """The page. Who opens it has a cookie before anything is asked."""
        return FileResponse(STATIC / "index.html", headers=dict(response.headers))

    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
    app.add_middleware(Guard, limits=playground.limits, names=names)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(NGSError, _mistaken)
    app.add_exception_handler(Busy, _busy)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = app.state.playground.limits.threads
    yield
    if app.state.playground.training is not None:
        app.state.playground.training.stop()


def _not_valid(request: Request, error: Exception) -> Response:
    """What is not as the description says, without quoting it: it may be long."""
    assert isinstance(error, RequestValidationError)
    found = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5]]
    return refusal(422, f"the request is not as needed: {'; '.join(found)}. See /api/openapi.json")


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = error.detail
    if message == "Not Found":
        message = f"there is no {request.url.path} here; see /api/openapi.json for what there is"
    elif message == "Method Not Allowed":
        message = f"{request.method} is not for {request.url.path}; see /api/openapi.json for what is"
    return refusal(error.status_code, message, dict(error.headers or {}))


def _mistaken(request: Request, error: Exception) -> Response:
    return refusal(422, str(error))


def _busy(request: Request, error: Exception) -> Response:
    return refusal(503, str(error), {"Retry-After": "1"})
