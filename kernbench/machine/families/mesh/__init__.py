"""`mesh` machines: a bare network of endpoints."""
