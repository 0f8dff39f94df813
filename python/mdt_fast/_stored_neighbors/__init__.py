"""Neighbour tables of samples that memory does not hold: cells, neighbours in each cell, and their merge."""
