"""What to write instead: known words near a misspelt one, odd characters, and what a broken line was meant to be.

Here belongs what turns a mistake into a sentence, and the finding that carries it; and the
text that can be said in other languages. It sees text, imports no other room,
and shows only known words.
"""
