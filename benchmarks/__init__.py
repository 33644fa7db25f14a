"""Measures the queue: ``python -m benchmarks``. See docs/benchmarks.md."""
