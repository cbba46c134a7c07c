"""A plugin for Gatepost that has one of each thing that a plugin can have."""
