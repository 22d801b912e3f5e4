"""Compiled topologies: families expand a typed spec into flat tables of nodes, links, stations and servers."""
