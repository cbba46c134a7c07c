"""The folder of an instance: a restore that was broken off is completed (`journal`), what killed processes have left is
removed (`leftovers`), and each process that serves says so (`presence`).
"""
