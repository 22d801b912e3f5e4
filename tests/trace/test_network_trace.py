"""The trace of a network has its layers and operators."""

from __future__ import annotations

import json
from pathlib import Path

import kernbench
from tests.trace.decoded import decode
from tests.workloads.configs import decoder


def test_layers_hold_their_operators_and_operators_their_launches(tmp_path: Path) -> None:
    config = tmp_path / "small" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps(decoder("llama", "64/4/4/2/16/128/256")))
    result = kernbench.run(str(config), "tiny", parameters={"batch": 2, "context": 9, "layers": "all"})
    result.write_trace(tmp_path / "trace")
    found = decode(tmp_path / "trace")
    own = {
        name: [one for one in found.slices if found.path(one) == f"run.{name}"]
        for name in ("layers", "operators", "launches")
    }
    assert [one.name for one in own["layers"]] == ["embedding", *(f"layer {at}" for at in range(4)), "output"]
    for outer, inner in (("layers", "operators"), ("operators", "launches")):
        for one in own[inner]:
            assert any(wide.start_fs <= one.start_fs and one.end_fs <= wide.end_fs for wide in own[outer])
