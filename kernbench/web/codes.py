"""Columns of few distinct texts as small integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars


def number_texts(texts: polars.Series, order: Callable[[list[str]], list[str]]) -> tuple[list[str], polars.Series]:
    """The distinct texts in an order, and the number of each row's text in it, as the narrowest unsigned integer.

    The texts are compared once each, when they become categories; then the numbers of those are exchanged.
    """
    import polars

    known = texts.cast(polars.Categorical)
    found = known.unique()
    names = found.cast(polars.String).to_list()
    category = dict(zip(names, found.to_physical().to_list(), strict=True))
    ordered = order(names)
    number_of = np.zeros(1 + max(category.values(), default=0), dtype=np.min_scalar_type(len(names)))
    number_of[[category[name] for name in ordered]] = np.arange(len(ordered))
    return ordered, polars.Series(number_of[known.to_physical().to_numpy()])
