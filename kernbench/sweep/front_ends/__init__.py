"""The front-ends of sweeps. A new one is a module here with a `FRONT_END`, and a line in `registry`."""
