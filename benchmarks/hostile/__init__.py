"""What hostile clients do to a server, and what honest clients notice: `make attacks`, `make growth`.

Everything is bounded in time and goes to the loopback interface alone.
"""
