"""All rows: mistakes of form, mistakes of meaning, and edits that do no harm."""

from __future__ import annotations

from . import harmless, of_lines, of_matchers, of_words, semantic

HARMFUL = (*of_words.MISTAKES, *of_lines.MISTAKES, *of_matchers.MISTAKES)
HARMLESS = (*harmless.MISTAKES,)
# The mistakes of meaning, of which the harmless ones are to be no error.
SEMANTIC = tuple(one for one in semantic.MISTAKES if one.class_ != "taken out")
# What is not there has no line at which it could be told: invariants and the diff tell it.
TAKEN_OUT = tuple(one for one in semantic.MISTAKES if one.class_ == "taken out")
