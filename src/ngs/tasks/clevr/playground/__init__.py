"""Questions about scenes in the playground: answered with their programs, and corrected."""
