"""What `kernbench show` tells of machines, model sheets, sweeps and collective algorithms."""
