"""Settings of the documentation site; `make docs` builds it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import firstlight

project = "firstlight"
author = "The firstlight authors"
copyright = "The firstlight authors, Apache-2.0"
version = release = firstlight.__version__

extensions = ["myst_parser", "sphinx_gallery.gen_gallery", "tools.docs.extension"]
exclude_patterns = [
    "_static/**",
    "**/sg_execution_times.rst",
    "gallery/**/*.py",
    "gallery/**/*.md5",
    "gallery/**/*.ipynb",
    "gallery/**/*.json",
]
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = f"firstlight {version}"
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True, "footer_icons": []}
default_role = "code"
highlight_language = "python"
keep_warnings = False
# Names outside of the package, such as numpy.ndarray, have no page here: only links that a page writes are checked.
nitpick_ignore_regex = [(r"py:.*", r".*")]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_dmath_double_inline = False
myst_dmath_allow_labels = False
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_ambiguous"]

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "image_scrapers": ("tools.docs.pictures.scrape",),
    "capture_repr": ("__repr__",),
    "ignore_repr_types": r"FigureData",
    "subsection_order": [
        f"../examples/gallery/{name}"
        for name in ("groups", "grokking", "crafting", "staircases", "convergence", "tables")
    ],
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "show_signature": False,
    "plot_gallery": True,
    "download_all_examples": False,
    "reset_modules": (),
    "thumbnail_size": (400, 280),
    "abort_on_example_error": False,
    "reference_url": {"firstlight": None},
    "doc_module": ("firstlight",),
    "backreferences_dir": None,
    "write_computation_times": False,
}
