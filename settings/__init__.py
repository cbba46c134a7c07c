"""Every setting of Gatepost, once: name, type, default, what is allowed and what it is for.

This is the only package that reads the environment. Sources, each overriding the one before:

1. the defaults in `declared`;
2. ``<instance>/settings.toml``;
3. environment variables ``GATEPOST_<NAME>`` (``GATEPOST_PAGE_SIZES__EDITOR=200`` sets one entry of a table);
4. explicit overrides: command-line options, ``create_app(config=…)``.

Plugins declare settings of their own (`Setting`): ``limit`` of the plugin ``notes`` stands in the table ``[notes]`` of
settings.toml and in ``GATEPOST_NOTES_LIMIT``.

A name that is not declared and a value that is not allowed raise `SettingError`.
"""

from settings.declared import DECLARED, Settings
from settings.live import LiveSettings
from settings.plugins import Plugins, Setting
from settings.sources import PREFIX, REDACTED, SettingError

__all__ = ["DECLARED", "PREFIX", "REDACTED", "LiveSettings", "Plugins", "Setting", "SettingError", "Settings"]
