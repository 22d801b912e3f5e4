"""The event loop: threads, events, and passes over the network."""
