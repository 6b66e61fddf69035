"""The report of a run that answers questions about scenes: scenes from above, and programs."""
