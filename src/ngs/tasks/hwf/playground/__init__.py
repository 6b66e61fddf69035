"""Drawings in the playground: read, corrected by back-search, and learned from. `drawing_api.py` is first."""
