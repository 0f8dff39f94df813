"""Landmarks of many samples, and the assignment of all samples to what was fitted on the landmarks."""
