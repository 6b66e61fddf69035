"""Questions about scenes in the playground: answered with their programs, and corrected.

asking_api.py    the tab of the page: questions over HTTP
asked_scenes.py  the scenes that they are about
"""
