"""Speed and memory of this library beside others, measured on the same machine in the same run.

`python -m benches` (`make bench`) measures; `pytest -c benches/pytest.ini benches` runs the codec
cases alone. What is judged, and the floors and goals, stand in `floors.toml`.
"""
