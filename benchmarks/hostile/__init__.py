"""What hostile clients and faults do to a server, and what honest clients notice: `make attacks`, `make faults`,
`make growth`.

Everything is bounded in time and goes to the loopback interface alone.
"""
