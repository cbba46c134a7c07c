"""All rows: mistakes of form, mistakes of meaning, and edits that do no harm."""

from __future__ import annotations

from . import harmless, of_casbin, of_files, of_lines, of_matchers, of_words, semantic

# Mistakes of CSV files. Each is reported once, at its line.
IN_LINES = (*of_words.MISTAKES, *of_lines.MISTAKES, *of_casbin.MISTAKES)
# Mistakes that spoil a whole file. Nothing else in the file is reported.
IN_FILES = (*of_files.MISTAKES,)
IN_MATCHERS = (*of_matchers.MISTAKES,)
HARMFUL = (*IN_LINES, *IN_FILES, *IN_MATCHERS)
HARMLESS = (*harmless.MISTAKES,)
# The mistakes of meaning. The harmless ones must not be errors.
SEMANTIC = tuple(one for one in semantic.MISTAKES if one.class_ != "taken out")
# A removed line has no place for a finding: invariants and the diff report it.
TAKEN_OUT = tuple(one for one in semantic.MISTAKES if one.class_ == "taken out")
