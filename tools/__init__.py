"""What the verbs of the Makefile run: checks of the whole tree.

Nothing here is installed, or imported by `acp`.
"""
