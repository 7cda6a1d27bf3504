"""Shipped as ``rpds``: the part of rpds-py that jsonschema and referencing use, without compiled code.

Same names, same results: tests/packaging/test_rpds.py compares them with the original.  A change makes a copy where the
original shares structure, which for the few hundred entries of a schema registry is no slower.
https://rpds.readthedocs.io/en/stable/api/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TypeVar

__all__ = ["HashTrieMap", "HashTrieSet", "List"]

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class HashTrieMap(Mapping[K, V]):
    """A mapping that never changes: what would change it returns another one."""

    __slots__ = ("_entries",)

    def __init__(self, value: Mapping[K, V] | Iterable[tuple[K, V]] = (), **more: V) -> None:
        self._entries: dict[K, V] = dict(value, **more)

    @classmethod
    def convert(cls, value: Mapping[K, V] | Iterable[tuple[K, V]]) -> HashTrieMap[K, V]:
        return value if isinstance(value, HashTrieMap) else cls(value)

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return self._entries == other._entries if isinstance(other, HashTrieMap) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return f"HashTrieMap({self._entries!r})"

    def insert(self, key: K, value: V) -> HashTrieMap[K, V]:
        return HashTrieMap({**self._entries, key: value})

    def update(self, *others: Mapping[K, V] | Iterable[tuple[K, V]], **more: V) -> HashTrieMap[K, V]:
        changed = dict(self._entries)
        for other in (*others, more):
            changed.update(other)  # type: ignore[arg-type]  # ``more`` has str keys, and so has every map that is given it
        return HashTrieMap(changed)

    def remove(self, key: K) -> HashTrieMap[K, V]:
        changed = dict(self._entries)
        del changed[key]
        return HashTrieMap(changed)

    def discard(self, key: K) -> HashTrieMap[K, V]:
        return self.remove(key) if key in self._entries else self


class HashTrieSet(Set[T]):
    """A set that never changes."""

    __slots__ = ("_items",)

    def __init__(self, value: Iterable[T] = ()) -> None:
        self._items = frozenset(value)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return f"HashTrieSet({set(self._items) or '{}'})"

    def insert(self, item: T) -> HashTrieSet[T]:
        return HashTrieSet(self._items | {item})

    def update(self, *others: Iterable[T]) -> HashTrieSet[T]:
        return HashTrieSet(self._items.union(*others))

    def remove(self, item: T) -> HashTrieSet[T]:
        if item not in self._items:
            raise KeyError(item)
        return self.discard(item)

    def discard(self, item: T) -> HashTrieSet[T]:
        return HashTrieSet(self._items - {item})


class List(Iterable[T]):
    """A sequence that grows at its front and never changes."""

    __slots__ = ("_items",)

    def __init__(self, value: Iterable[T] = ()) -> None:
        self._items = tuple(value)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, List) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return f"List({list(self._items)!r})"

    def push_front(self, item: T) -> List[T]:
        return List((item, *self._items))
