"""Mutations of trees, of lists of words, and of bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.fuzz.document import Pairs, Place, copy, list_places
from tests.fuzz.values import RAW, draw_text, draw_value, vary, vary_text

GENTLE = 0.3  # of the trees, which may be odd and still legal
MOST_BYTES = 1 << 20  # of a file that bytes are repeated in


def mutate_tree(random: Random, tree: Any, others: Sequence[Any]) -> Any:
    """A tree with one to four changes; parts of other trees may come into it. Some have only their numbers varied."""
    tree = copy(tree)
    if random.random() < GENTLE:
        return _vary_numbers(random, tree)
    for _ in range(random.choice([1, 1, 1, 2, 2, 3, 4])):
        places = list(list_places(tree))
        if not places or random.random() < 0.01:
            tree = draw_value(random)
            continue
        if random.random() < 0.5:  # deep places are many, so half of the draws go by levels
            places = [place for place in places if not isinstance(place.value, list)] or places
        place = random.choice(places)
        _CHANGES[random.choice(_CHOICES)](random, place, tree, others)
    return tree


def _vary_numbers(random: Random, tree: Any) -> Any:
    places = [place for place in list_places(tree) if isinstance(place.value, int | float)]
    for place in random.sample(places, min(len(places), random.choice([1, 2, 3, 5]))):
        place.put(vary(random, place.value))
    return tree


def _replace(random: Random, place: Place, _tree: Any, _others: Sequence[Any]) -> None:
    place.put(draw_value(random))


def _vary(random: Random, place: Place, _tree: Any, _others: Sequence[Any]) -> None:
    place.put(vary(random, place.value))


def _remove(random: Random, place: Place, _tree: Any, _others: Sequence[Any]) -> None:
    del place.holder[place.index]


def _repeat(random: Random, place: Place, _tree: Any, _others: Sequence[Any]) -> None:
    entry = place.holder[place.index]
    place.holder[place.index : place.index] = [copy(entry) for _ in range(random.choice([1, 1, 1, 3, 100]))]


def _rename(random: Random, place: Place, tree: Any, _others: Sequence[Any]) -> None:
    if not isinstance(place.holder, Pairs):
        return _replace(random, place, tree, _others)
    keys = [holder[index][0] for holder, index in list_places(tree) if isinstance(holder, Pairs)]
    key = place.holder[place.index][0]
    new = random.choice([draw_value(random), draw_text(random), random.choice(keys), vary_text(random, str(key))])
    place.holder[place.index] = [new, place.value]
    return None


def _add(random: Random, place: Place, tree: Any, _others: Sequence[Any]) -> None:
    value = draw_value(random)
    keys = [holder[index][0] for holder, index in list_places(tree) if isinstance(holder, Pairs)]
    key = random.choice([draw_text(random), *keys[:30]])
    place.holder.insert(place.index, [key, value] if isinstance(place.holder, Pairs) else value)


def _wrap(random: Random, place: Place, _tree: Any, _others: Sequence[Any]) -> None:
    value = place.value
    place.put(
        random.choice([[value], [value, copy(value)], Pairs([["value", value]]), Pairs([[draw_text(random), value]])])
    )


def _unwrap(random: Random, place: Place, tree: Any, others: Sequence[Any]) -> None:
    if isinstance(place.value, list) and place.value:
        place.put(Place(place.value, 0).value)
    else:
        _wrap(random, place, tree, others)


def _splice(random: Random, place: Place, tree: Any, others: Sequence[Any]) -> None:
    donors = [found.value for found in list_places(random.choice([tree, *others]))]
    if donors:
        place.put(copy(random.choice(donors)))


def _exchange(random: Random, place: Place, tree: Any, _others: Sequence[Any]) -> None:
    other = random.choice(list(list_places(tree)))
    mine, theirs = copy(place.value), copy(other.value)
    place.put(theirs)
    other.put(mine)


Change = Callable[[Random, Place, Any, Sequence[Any]], None]
_SHARES: dict[str, tuple[Change, int]] = {
    "replace": (_replace, 6),
    "vary": (_vary, 8),
    "remove": (_remove, 3),
    "repeat": (_repeat, 1),
    "rename": (_rename, 2),
    "add": (_add, 2),
    "wrap": (_wrap, 1),
    "unwrap": (_unwrap, 1),
    "splice": (_splice, 3),
    "exchange": (_exchange, 1),
}
_CHANGES = {name: change for name, (change, _) in _SHARES.items()}
_CHOICES = [name for name, (_, share) in _SHARES.items() for _ in range(share)]


def mutate_words(random: Random, words: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
    """Arguments with one to three changes: a word removed, repeated, exchanged, varied, or one of the vocabulary put in."""
    words = list(words)
    for _ in range(random.choice([1, 1, 2, 3])):
        at = random.randrange(len(words) + 1)
        pick = random.random()
        if at == len(words) or pick < 0.3:
            words.insert(at, random.choice(vocabulary) if random.random() < 0.8 else draw_text(random))
        elif pick < 0.4:
            del words[at]
        elif pick < 0.5:
            words.insert(at, words[at])
        elif pick < 0.6:
            other = random.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif pick < 0.7:
            words[at] = draw_text(random)
        else:
            words[at] = mutate_word(random, words[at])
    return words


def mutate_word(random: Random, word: str) -> str:
    """A word with one of its parts (between = : , @ and .) changed."""
    mark = random.choice([m for m in "=:,@." if m in word] or [""])
    if not mark:
        return vary_text(random, word)
    parts = word.split(mark)
    at = random.randrange(len(parts))
    parts[at] = random.choice(
        [str(draw_value(random, 0)), vary_text(random, parts[at]), parts[0], "", draw_text(random)]
    )
    return mark.join(parts)


def mutate_bytes(random: Random, content: bytes) -> bytes:
    """Bytes with one to five changes: flipped, removed, repeated, replaced, cut off."""
    held = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 5])):
        start = random.randrange(len(held) + 1)
        end = min(len(held), start + random.choice([1, 1, 2, 8, 64, 1000]))
        pick = random.random()
        if pick < 0.25 and start < len(held):
            held[start] ^= 1 << random.randrange(8)
        elif pick < 0.45:
            del held[start:end]
        elif pick < 0.55 and len(held) < MOST_BYTES:
            held[start:start] = held[start:end] * random.choice([1, 2, 50])
        elif pick < 0.75:
            held[start:end] = random.randbytes(end - start)
        elif pick < 0.95:
            text = random.choice(RAW) if random.random() < 0.3 else draw_text(random)
            held[start:start] = text.encode(errors="surrogatepass")
        else:
            del held[start:]
    return bytes(held)
