"""Running points: on threads, in processes or on a Dask cluster."""
