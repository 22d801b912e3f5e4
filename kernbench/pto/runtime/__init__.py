"""The runtime: orchestrator, schedulers, cores."""
