"""The views fused into one graph: weights of the views at each sample, connectivities and distances."""
