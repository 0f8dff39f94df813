"""The search for the trajectory with the best score: strategies, scoring, limits, checkpoints and results."""
