"""The published study: its runs, its figures, and the comparison of both."""
