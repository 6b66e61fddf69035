"""The report of a run that sees scenes: confused attributes, and pictures with frames around mistakes."""
