"""The folder of an instance: `journal` completes an interrupted restore, `leftovers` removes temporary files of killed
processes, and `presence` writes the heartbeat of a serving process.
"""
