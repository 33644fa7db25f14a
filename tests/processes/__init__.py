"""Tests with real processes and real signals."""

from tests.processes.process import Process, environment

__all__ = ["Process", "environment"]
