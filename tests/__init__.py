"""Tests switch on what the loops assert (docs/engine.md), before anything imports them."""

import os

os.environ.setdefault("KERNBENCH_CHECKED", "1")
