"""Scripts: a few modules of our own, and BokehJS out of the installed wheel. Only listed names are ever opened."""

from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

OWN = (
    *("lab.js", "charts.js", "jobs.js", "setting.js"),
    *("grok.js", "theatre.js", "stage.js", "staircase.js", "atlas.js", "court.js", "bench.js"),
)
BOKEH = "bokeh.min.js"


async def static(request: Request) -> Response:
    """Answer with a script."""
    name = request.path_params["name"]
    if name not in (*OWN, BOKEH):
        return PlainTextResponse("There is no such script.", 404)
    headers = {"cache-control": "no-cache" if name in OWN else "max-age=86400"}
    return Response(content(name), media_type="text/javascript", headers=headers)


@cache
def content(name: str) -> bytes:
    """Return a listed script."""
    if name == BOKEH:
        spec = find_spec("bokeh")
        return (Path(str(spec and spec.origin)).parent / "server" / "static" / "js" / BOKEH).read_bytes()
    return (resources.files("firstlight.lab") / "static" / name).read_bytes()
