"""A plugin for Gatepost: notes."""
