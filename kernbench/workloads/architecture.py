"""The architecture of a transformer: what its config says of sizes, as one typed record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Heads:
    """Attention with a key and a value head for each group of query heads."""

    queries: int
    keys: int
    size: int  # elements of a head
    bias: bool = False  # of the matrices of queries, keys and values
    out_bias: bool = False
    normalised: bool = False  # queries and keys, head by head

    @property
    def cached(self) -> int:
        """Elements that the cache keeps of a token in a layer."""
        return 2 * self.keys * self.size


@dataclass(frozen=True, slots=True)
class Latent:
    """Attention whose heads share one compressed row of keys and values (MLA; DeepSeek-V2, arXiv 2405.04434)."""

    queries: int
    query_rank: int | None  # None: queries come from one matrix
    rank: int  # elements of the compressed row
    plain: int  # elements of a head without positions
    rotary: int  # elements of a head with positions, of which all heads share the keys
    value: int

    @property
    def cached(self) -> int:
        """Elements that the cache keeps of a token in a layer."""
        return self.rank + self.rotary


@dataclass(frozen=True, slots=True)
class Mlp:
    """Two matrices around an activation, or three, one a gate."""

    inner: int
    gated: bool
    activation: str
    bias: bool = False


@dataclass(frozen=True, slots=True)
class Experts:
    """Several MLPs; a router chooses some for each token."""

    count: int
    chosen: int
    inner: int
    shared: int = 0  # inner features of the MLP that all tokens take
    shared_gate: bool = False
    router_bias: bool = False  # added to the scores as experts are chosen, not to their weights
    sigmoid: bool = False  # scores are logistic; else a softmax over all experts
    normalised: bool = False  # the weights of a token's experts are divided by their sum
    factor: float = 1.0  # of the weights
    groups: int = 1  # of experts, of which a token takes from the best `groups_chosen` alone
    groups_chosen: int = 1
    group_best: int = 1  # experts whose scores are a group's


@dataclass(frozen=True, slots=True)
class Norms:
    """The norms of a layer and of the network."""

    kind: str  # rms: a scale; layer: a scale and a shift
    per_layer: int
    final: bool = True
    embedding: bool = False  # one behind the embedding; then those of layers follow the sums of blocks and their inputs

    @property
    def before(self) -> bool:
        """Whether attention and MLP read a norm of what the layer has."""
        return not self.embedding

    @property
    def after(self) -> bool:
        """Whether their results pass a norm of their own before they are added."""
        return self.per_layer > 2

    @property
    def vectors(self) -> int:
        """Vectors of weights of a norm."""
        return 1 if self.kind == "rms" else 2


@dataclass(frozen=True, slots=True)
class Patches:
    """What a vision transformer reads, and says in the end."""

    image: int  # pixels of a side
    patch: int
    channels: int
    classes: int

    @property
    def tokens(self) -> int:
        """Patches of an image and the class token."""
        return (self.image // self.patch) ** 2 + 1


class LayerKind(NamedTuple):
    """What tells a layer from another of the same network."""

    sparse: bool  # with experts
    window: int | None  # of tokens that attention sees; None: all


@dataclass(frozen=True, slots=True)
class Architecture:
    """A transformer. Sizes are elements; `layer_kinds` has an entry for each layer, in order."""

    name: str
    family: str
    hidden: int
    vocabulary: int
    attention: Heads | Latent
    mlp: Mlp
    norms: Norms
    layer_kinds: tuple[LayerKind, ...]
    tied: bool
    dtype: str
    experts: Experts | None = None
    context: int | None = None  # the most tokens of a sequence
    positions: int = 0  # learned positions
    token_types: int = 0
    rotary: int = 0  # elements of a head that are rotated by their position
    parallel: bool = False  # attention and MLP read the same input
    causal: bool = True  # False: an encoder
    pooler: bool = False
    patches: Patches | None = None
    soft_caps: tuple[float, float] = (0.0, 0.0)  # of scores, of logits: cap x tanh(x / cap); 0: none
    embedding_scale: float = 1.0
    quantised: str | None = None  # type of the weights of layers, where the config says another than `dtype`
    not_modelled: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        """How many layers it has."""
        return len(self.layer_kinds)

    def count_kinds(self) -> dict[LayerKind, int]:
        """How many layers there are of each kind, in the order in which they first come."""
        return {kind: self.layer_kinds.count(kind) for kind in dict.fromkeys(self.layer_kinds)}
