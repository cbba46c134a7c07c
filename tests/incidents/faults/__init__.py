"""Faults around a service: what its clients see, what health and `gatepost doctor` say, and what becomes of its writes.

`fault` says what a fault is; `disks`, `files`, `machine`, `instances` and `neighbours` have them; `clients` ask
meanwhile, and `play` lets each happen and judges. `python -m tests.incidents.faults.play` (`make faults`) plays all.
"""
