"""From views to neighbour graphs, kernels, and the transition rows of new samples."""
