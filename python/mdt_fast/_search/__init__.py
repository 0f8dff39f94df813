"""The search for the best trajectory: strategies, scoring, limits, checkpoints and results."""
