"""What a run of task graphs leaves, and why it took as long as it did."""
