"""Questions about scenes in the playground: answered with their programs, and corrected.

view.py          the tab of the page
asking_api.py    questions over HTTP
asked_scenes.py  the scenes that they are about
"""
