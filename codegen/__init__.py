"""Writes every generated file of the project from the facts in `schema/`.

`python -m codegen` writes, `python -m codegen --check` compares.
Needs rustfmt, and before Python 3.11 tomli.
"""
