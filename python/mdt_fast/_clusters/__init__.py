"""From coordinates to clusters: k-means, final labels, consensus, number of clusters."""
