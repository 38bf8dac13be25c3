# SPDX-License-Identifier: GPL-2.0-or-later
"""Sphinx configuration: `make docs`."""

project = "OpenRNIC"
author = "the OpenRNIC developers"
extensions = []
exclude_patterns = []
html_theme = "alabaster"
html_theme_options = {"page_width": "70em", "sidebar_width": "16em"}
html_static_path = []
highlight_language = "none"
nitpicky = True
