"""The web application of the playground: its JSON endpoints, how they fail, and the page in front of them."""

from importlib.metadata import version

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ngs.apps.serve.front import refused
from ngs.apps.serve.guard import refusal
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.results_api import results_router
from ngs.apps.serve.runs_api import runs_router
from ngs.errors import NGSError
from ngs.tasks.playground.limits import Busy
from ngs.tasks.playground.training import AlreadyThere

ABOUT = """
Try what networks have learned, and follow runs while they learn.

Every refusal is `{"error": "what was given, what is needed, what to do"}` with a status of 4xx, or 503
where too many compute at once: then try again. Each visitor, known by a cookie, learns apart from others.
"""


def endpoints(playground: Playground) -> FastAPI:
    """Everything under /api."""
    app = FastAPI(
        title="NGS playground",
        description=ABOUT,
        version=version("ngs"),
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.visitors, app.state.stop = playground.visitors, playground.stop
    for router in (runs_router, results_router):
        app.include_router(router(playground))
    for view in playground.views.values():
        app.include_router(view.router())
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(NGSError, lambda _, error: refusal(422, str(error)))
    app.add_exception_handler(AlreadyThere, lambda _, error: refusal(409, str(error)))
    app.add_exception_handler(Busy, lambda _, error: refusal(503, str(error), {"Retry-After": "1"}))
    return app


def _not_valid(request: Request, error: Exception) -> Response:
    """What is not as the description says, without quoting it: it may be long."""
    assert isinstance(error, RequestValidationError)
    found = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5]]
    return refusal(422, f"the request is not as needed: {'; '.join(found)}. See /api/openapi.json")
