"""The geometry of a trajectory: its diffusion time and its embedding."""
