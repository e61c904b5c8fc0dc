"""What must agree for two results to stand in one table: the data, the protocol and the kernels."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Terms:
    """The terms of one result; equal terms, and only those, may share a table. Fit for a dictionary's key."""

    fingerprint: str
    protocol: tuple[tuple[str, Any], ...]  # sorted by name
    kernels: str  # those that ran
    data_name: str = field(default="", compare=False)

    @classmethod
    def of(cls, data: Mapping[str, Any], protocol: Mapping[str, Any], machine: Mapping[str, Any]) -> "Terms":
        return cls(
            data["fingerprint"], tuple(sorted(protocol.items())), machine.get("kernels", ""), data.get("name", "")
        )

    def __str__(self) -> str:
        """`films (data 1f3a9c04de), kernels cpu, batch 2048, …`: all of them, to head a table."""
        told = [f"{name} {value}" for name, value in self.protocol]
        return ", ".join(
            [f"{self.data_name or 'data'} (data {self.fingerprint[:10]})", f"kernels {self.kernels}", *told]
        )


def terms_differ(first: Terms, second: Terms) -> list[str]:
    """Each difference in words, such as `mask: train and train+valid`; empty if both may share a table."""
    found = []
    if first.fingerprint != second.fingerprint:
        one, other = (f"{terms.data_name} ({terms.fingerprint[:10]})".strip() for terms in (first, second))
        found.append(f"data: {one} and {other}")
    if first.kernels != second.kernels:
        found.append(f"kernels: {first.kernels} and {second.kernels}")
    mine, theirs = dict(first.protocol), dict(second.protocol)
    for name in sorted(mine.keys() | theirs.keys()):
        one, other = (terms.get(name, "nothing said") for terms in (mine, theirs))
        if one != other:
            found.append(f"{name}: {one} and {other}")
    return found
