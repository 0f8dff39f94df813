"""From coordinates to clusters: k-means, final labels, the agreement of several clusterings, the number of clusters."""
