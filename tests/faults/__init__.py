"""Producers and workers under load, while one kind of fault is injected again and again. ``python -m tests.faults``.

A scenario (``scenarios.py``) is a fault and the databases on which it makes sense; what must hold in the end are the
invariants (``invariants.py``). Where the fault did not bite the verdict is VACUOUS, which is no pass.
"""
