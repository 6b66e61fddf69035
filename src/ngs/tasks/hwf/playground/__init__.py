"""Drawings in the playground: read, corrected by back-search, and learned from.

view.py         the tab of the page: who can read, and training a first network
drawing_api.py  a drawing over HTTP
strokes.py      where the symbols of a drawing are
reading.py      what is read in it
correcting.py   what was misread
learning.py     a few gradient steps of a visitor's own network
networks.py     the networks that all visitors share
"""
