"""The report of a run that reads handwritten formulas: their images, confused symbols, the posterior."""
