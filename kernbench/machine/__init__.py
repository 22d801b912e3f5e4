"""Compiled topologies: families expand checked fields into flat tables of nodes, links, stations and servers."""

from kernbench.machine.address import Address
from kernbench.machine.families.sip.places import PePlace, Places
from kernbench.machine.intents import EdgeKind, Intent, RouteKind
from kernbench.machine.load import load_machine
from kernbench.machine.machine import Machine, Terminal

__all__ = ["Address", "EdgeKind", "Intent", "Machine", "PePlace", "Places", "RouteKind", "Terminal", "load_machine"]
