"""Questions about scenes of simple objects (CLEVR): programs learned from answers."""
