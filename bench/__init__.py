"""Benchmarks: what the product costs beside the least that it could cost. `make bench` prints ratios."""
