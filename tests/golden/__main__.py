"""`python -m tests.golden`: renew the digests."""

from __future__ import annotations

from tests.golden import rewrite

rewrite()
