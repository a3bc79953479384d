"""Build and check the documentation site: generated reference pages, maths, pictures of the gallery.

`python -m tools.docs` builds the site into `build/site` and fails on any warning, on a broken internal link, and on
any script, style, font or image from outside.
"""
