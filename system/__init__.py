"""Threads and files: what Gatepost asks of the operating system. Imports nothing of Gatepost."""
