"""From views to neighbour graphs, and from graphs to the affinities of a random walk."""
