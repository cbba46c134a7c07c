"""Attacks of hostile clients on a server, and their effect on honest clients: `make attacks`, `make growth`.

Everything is bounded in time and uses only the loopback interface.
"""
