"""Points of a grid: full factorial, sampled, or chosen by an optimiser."""
