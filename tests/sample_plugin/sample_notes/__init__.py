"""A plugin for Gatepost: one table, one collection, its rules and its migrations."""
