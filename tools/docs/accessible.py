"""Complete what the theme leaves out for keyboards and screen readers, in the pages that Sphinx has written."""

from pathlib import Path

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


def complete_pages(site: Path) -> None:
    """Rewrite the pages of a site that lack an attribute."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if (better := complete(text)) != text:
            path.write_text(better, encoding="utf-8")
