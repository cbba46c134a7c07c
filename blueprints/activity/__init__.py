"""How busy the service was in each minute of the last day (`counts`), and how large it is (`endpoints`)."""
