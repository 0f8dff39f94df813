"""Random-walk operators of the views, operator sets and trajectories."""
