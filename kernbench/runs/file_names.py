"""The names of the files of a run, beside `result.json`."""

from __future__ import annotations

OP_LOG, PATH, USAGE = "oplog.parquet", "critical_path.parquet", "utilisation.parquet"
MACHINE = "machine.json"  # what the machine is
ENERGY = "energy.json"  # where its energy went
NODES, LINKS, PARTS = "machine_nodes.parquet", "machine_links.parquet", "machine_parts.parquet"
HELD, TRANSFERS, SERVICES = "held_parts.parquet", "transfers.parquet", "transfer_services.parquet"
