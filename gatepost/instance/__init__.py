"""The folder of an instance, before it is used: a restore that was broken off is completed (`journal`), and what killed
processes have left is removed (`leftovers`).
"""
