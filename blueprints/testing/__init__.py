"""What the tests of collections need: an app that serves them, and the contract that each of them keeps.

Plugins import it as `gatepost.testing`. Nothing that serves imports this package: pytest need not be installed.
"""
