"""The files of a sweep's directory that others read."""

TABLE = "table.parquet"  # the points that have run, when the sweep has ended
PROGRESS = "progress.parquet"  # the same while it runs
MANIFEST = "sweep.json"  # what the sweep is of, from its start
