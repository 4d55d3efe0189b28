"""What this library promises about bad input, bad peers and bad luck, measured.

`python -m reliability` (`make reliability`) measures every figure of `figures.toml` and judges it.
Speed and memory beside other libraries are the business of `benches`.
"""
