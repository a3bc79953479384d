"""Read the built HTML: internal links must lead somewhere, and nothing may be loaded from outside."""

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches without being asked; `a` and `area` are links and may lead outside.
LOADED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "input": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
# Values of rel for which a browser fetches the target of a `link`.
FETCHED = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "manifest", "preconnect", "dns-prefetch"}
_STYLE_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)|@import\s+['\"]([^'\"]+)['\"]")


class _Page(HTMLParser):
    """What one page loads, where it links, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self._style = tag == "style"
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        for name in LOADED.get(tag, ()):
            places = values.get(name, "")
            self.loads += (
                [place.split()[0] for place in places.split(",") if place.strip()] if name == "srcset" else [places]
            )
        if tag == "link" and FETCHED & set(values.get("rel", "").split()):
            self.loads.append(values.get("href", ""))
        elif tag in ("a", "area") and "href" in values:
            self.links.append(values["href"])
        self.loads += style_urls(values.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self._style:
            self.loads += style_urls(data)

    def handle_endtag(self, tag: str) -> None:
        self._style = False


def style_urls(text: str) -> list[str]:
    """Return every address that a style sheet loads.

    >>> style_urls("@import 'a.css'; p { background: url(b.png) }")
    ['a.css', 'b.png']
    """
    return [first or second for first, second in _STYLE_URL.findall(text)]


def is_outside(address: str) -> bool:
    """Return whether an address names a host or a scheme other than data.

    >>> [is_outside(a) for a in ("//cdn.net/x.js", "https://a.org", "x.css", "data:image/png;base64,AA")]
    [True, True, False, False]
    """
    parts = urlsplit(address.strip())
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def problems(site: Path) -> list[str]:
    """Return each problem of a built site as one line; an empty list if there is none."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        return [f"{site} has no page: build it first"]
    read = cache(lambda path: _Page(path.read_text(encoding="utf-8")))
    lines = []
    for path in pages:
        name = path.relative_to(site)
        for address in read(path).loads:
            lines += [f"{name}: {reason}" for reason in _loading(site, path, address)]
        for address in sorted(set(read(path).links)):
            lines += [f"{name}: {reason}" for reason in _linking(path, address, read)]
    for path in sorted(site.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        lines += [f"{path.relative_to(site)}: loads {a} from outside" for a in style_urls(text) if is_outside(a)]
    return lines


def _loading(site: Path, page: Path, address: str) -> Iterator[str]:
    if not address or address.startswith(("#", "data:")):
        return
    if is_outside(address):
        yield f"loads {address} from outside"
    elif not (target := page.parent / unquote(urlsplit(address).path)).exists():
        yield f"loads {address}, which does not exist"
    elif not target.resolve().is_relative_to(site.resolve()):
        yield f"loads {address}, which is outside of the site"


def _linking(page: Path, address: str, read) -> Iterator[str]:
    if is_outside(address) or address.startswith("javascript:"):
        return
    parts = urlsplit(address)
    target = page.parent / unquote(parts.path) if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        yield f"links to {address}, which does not exist"
    elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
        yield f"links to {address}, but {target.name} has no such place"
