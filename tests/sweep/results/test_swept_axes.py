from __future__ import annotations

from kernbench.sweep.results.swept_axes import find_swept, short_name
from tests.report.sample_tables import table


def test_only_what_varies_is_swept_in_the_order_of_the_columns() -> None:
    swept = find_swept(table(lambda *_: 1.0, N=[1], variant=["a", "b"], topology__hbm__channel_gbs=[8, 16]))
    assert [(axis.column, axis.values, axis.numeric) for axis in swept] == [
        ("variant", ("a", "b"), False),
        ("topology.hbm.channel_gbs", (8, 16), True),
    ]


def test_columns_that_change_together_are_one_axis() -> None:
    zipped = table(lambda *_: 1.0, M=[1, 2, 3], P=[5, 6])
    zipped.insert_column(1, (zipped["M"] * 2).alias("N"))
    swept = find_swept(zipped)
    assert [(axis.column, axis.companions) for axis in swept] == [("M", ("N",)), ("P", ())]
    assert swept[0].title == "M (with N)"


def test_titles_have_units() -> None:
    names = [
        "topology__hbm__channel_gbs",
        "topology__pe_gemm__tflops_f16",
        "topology__ucie__gbs",
        "topology__sips__count",
    ]
    titles = [find_swept(table(lambda *_: 1.0, **{name: [1, 2]}))[0].title for name in [*names, "tile_bytes"]]
    assert titles == [
        "hbm.channel_gbs (GB/s)",
        "pe_gemm.tflops_f16 (TFLOPS)",
        "ucie.gbs (GB/s)",
        "sips.count",
        "tile_bytes",
    ]


def test_bandwidth_is_paid_for_and_latency_is_not() -> None:
    paid = {
        name: find_swept(table(lambda *_: 1.0, **{name: [1, 2]}))[0].paid_for
        for name in ("topology__ucie__gbs", "topology__ucie__overhead_ns", "gbs")
    }
    assert list(paid.values()) == [True, False, False]


def test_short_names_leave_out_the_topology() -> None:
    assert (short_name("topology.hbm.channels"), short_name("M")) == ("hbm.channels", "M")
