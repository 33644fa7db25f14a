"""Tests with real processes and real signals."""

from tests.processes.process import Process, environment, wait_until

__all__ = ["Process", "environment", "wait_until"]
