"""The event loop: threads, servers, transfers and the network."""
