"""Suggestions for mistakes: known words near a misspelt one, odd characters, and the meaning of a broken line.

The modules here turn a mistake into a sentence, and contain findings and translatable messages. They work on text,
import no other room, and show only known words.
"""
