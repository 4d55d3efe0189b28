"""Writes every generated file of the project from the facts in `schema/`.

`python -m codegen` writes, `python -m codegen --check` compares.
Needs Python 3.11 or later and rustfmt.
"""
