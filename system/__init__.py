"""Threads and files of the operating system. Imports nothing of Gatepost."""
