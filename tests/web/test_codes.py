from __future__ import annotations

import polars
import pytest

from kernbench.web.codes import number_texts


@pytest.mark.parametrize(("count", "dtype"), [(0, polars.UInt8), (3, polars.UInt8), (300, polars.UInt16)])
def test_each_row_has_the_number_of_its_text_in_the_order(count: int, dtype: type[polars.DataType]) -> None:
    texts = polars.Series([f"part {at % max(count, 1)}" for at in range(2 * count)], dtype=polars.String)
    names, numbers = number_texts(texts, lambda found: sorted(found, reverse=True))
    assert names == sorted(set(texts), reverse=True)
    assert [names[number] for number in numbers] == texts.to_list()
    assert numbers.dtype == dtype
