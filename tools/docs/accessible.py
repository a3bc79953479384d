"""Complete what the theme leaves out for keyboards, screen readers and phones, in the pages that Sphinx has written."""

import re
import struct
from pathlib import Path

IMAGE = re.compile(r'(?<!<span class="picture" tabindex="0">)<img (?=[^>]*src="([^":]+)")[^>]*>')
WIDE = 600
"""Wider pictures have several panels or small letters: on a phone they keep a legible size and scroll."""

# Text of the theme → the same with the attribute that axe-core asks for.
ATTRIBUTES = {
    '<p class="caption" role="heading"><span': '<p class="caption" role="heading" aria-level="2"><span',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<aside class="toc-drawer no-toc">': '<aside class="toc-drawer no-toc" aria-label="On this page">',
    '<div class="highlight"><pre>': '<div class="highlight"><pre tabindex="0">',
    '<div class="table-wrapper colwidths-auto docutils container">': (
        '<div class="table-wrapper colwidths-auto docutils container" tabindex="0">'
    ),
}


def complete(text: str) -> str:
    """Return a page with all attributes; a page that has them is unchanged.

    >>> complete('<aside class="sidebar-drawer">')
    '<aside class="sidebar-drawer" aria-label="Pages">'
    """
    for before, after in ATTRIBUTES.items():
        text = text.replace(before, after)
    return text


def width_of(picture: Path) -> float:
    """Return the width of an SVG or PNG file in pixels of the page, 0 if it is none of these or missing.

    The pictures of the gallery have two dots in a pixel.
    """
    if not picture.is_file():
        return 0
    if picture.suffix == ".png":
        return struct.unpack(">I", picture.read_bytes()[16:20])[0] / 2
    written = re.search(r'<svg[^>]* width="([\d.]+)pt"', picture.read_text(encoding="utf-8")[:2000])
    return float(written.group(1)) * 4 / 3 if picture.suffix == ".svg" and written else 0


def scrolling(text: str, folder: Path) -> str:
    """Return a page whose wide pictures stand in a box that scrolls; a page that has them is unchanged."""
    return IMAGE.sub(
        lambda match: (
            f'<span class="picture" tabindex="0">{match.group()}</span>'
            if width_of(folder / match.group(1)) > WIDE and "thumb" not in match.group(1)
            else match.group()
        ),
        text,
    )


def complete_pages(site: Path) -> None:
    """Rewrite the pages of a site that lack an attribute or a box."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if (better := scrolling(complete(text), path.parent)) != text:
            path.write_text(better, encoding="utf-8")
