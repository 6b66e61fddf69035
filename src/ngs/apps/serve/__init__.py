"""`ngs serve`: a page to draw formulas and ask questions, and see them read, corrected and learned."""
