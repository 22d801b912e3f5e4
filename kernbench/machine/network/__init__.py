"""The network of a machine: links, routes, flow control."""
