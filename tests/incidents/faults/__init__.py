"""Faults around a service: their effect on its clients, its health, `gatepost doctor` and its writes.

`fault` defines a fault. `disks`, `files`, `machine`, `instances` and `neighbours` list them. `clients` send requests
during a fault. `play` lets each fault happen and evaluates it. `python -m tests.incidents.faults.play` (`make faults`)
plays all of them.
"""
