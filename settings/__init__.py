"""Every setting of Gatepost, declared once: name, type, default, allowed values and purpose.

This is the only package that reads the environment. Sources, each overriding the one before:

1. the defaults in `declared`;
2. ``<instance>/settings.toml``;
3. environment variables ``GATEPOST_<NAME>`` (``GATEPOST_PAGE_SIZES__EDITOR=200`` sets one entry of a table);
4. explicit overrides: command-line options, ``create_app(config=…)``.

Plugins declare their own settings (`Setting`): ``limit`` of the plugin ``notes`` is in the table ``[notes]`` of
settings.toml and in ``GATEPOST_NOTES_LIMIT``.

An unknown name and an invalid value raise `SettingError`.
"""

from settings.declared import DECLARED, Settings
from settings.live import LiveSettings
from settings.plugins import Plugins, Setting
from settings.sources import PREFIX, REDACTED, SettingError

__all__ = ["DECLARED", "PREFIX", "REDACTED", "LiveSettings", "Plugins", "Setting", "SettingError", "Settings"]
