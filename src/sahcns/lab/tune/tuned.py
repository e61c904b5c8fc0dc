"""Settings chosen by `sahcns tune`, for the set and the backbone that they were chosen on."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sahcns.errors import SettingError
from sahcns.lab.grid.job import Job
from sahcns.lab.tune.search import read_tuned


@dataclass(frozen=True)
class Tuned:
    """The content of one file; where it does not say on what set or backbone, it holds for all."""

    source: str
    samplers: Mapping[str, Mapping[str, Any]]
    fingerprint: str | None = None
    data_name: str = ""
    backbone: str | None = None
    terms: Mapping[str, Any] = field(default_factory=dict)  # of its protocol and its backbone, by name
    code: Mapping[str, str] = field(default_factory=dict)  # digests of a user's own samplers

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Tuned":
        """From a `tuned.json`, or the folder that holds it."""
        values = read_tuned(path)
        data, backbone, samplers = (values.get(name, {}) for name in ("data", "backbone", "samplers"))
        if not isinstance(samplers, dict) or not all(isinstance(one, dict) for one in samplers.values()):
            raise SettingError(f'{path}: samplers must hold settings by name, such as {{"sahc": {{"alpha": 0.3}}}}')
        terms = {**values.get("protocol", {}), **backbone}
        terms.pop("mask", None)  # of the test ranking, which no trial saw
        code = values.get("code", {})
        return cls(
            str(path), samplers, data.get("fingerprint"), data.get("name", ""), backbone.get("name"), terms, code
        )

    def fits(self, fingerprint: str, backbone: str) -> bool:
        """Whether it was tuned there."""
        return self.fingerprint in (None, fingerprint) and self.backbone in (None, backbone)


def tuned_for(files: Iterable[Tuned], fingerprint: str, backbone: str, sampler: str) -> dict[str, Any]:
    """The sampler's own settings chosen there; nothing if nobody tuned it there."""
    found = [one for one in files if sampler in one.samplers and one.fits(fingerprint, backbone)]
    if len(found) > 1:
        raise SettingError(
            f"{found[0].source} and {found[1].source} both have settings for {sampler}; give one of them"
        )
    return {name: value for name, value in found[0].samplers[sampler].items() if "." not in name} if found else {}


def refuse_unused(files: Iterable[Tuned], jobs: Iterable[Job]) -> None:
    """An error for a file that fits nothing that is compared: its settings would be left out in silence."""
    told = {(job.fingerprint, job.backbone["name"], job.sampler["name"]) for job in jobs}
    for one in files:
        if not any(one.fits(data, backbone) and sampler in one.samplers for data, backbone, sampler in told):
            where = f"{', '.join(one.samplers) or 'nothing'} with {one.backbone or 'any backbone'}"
            on = f"{one.data_name} ({one.fingerprint[:10]})" if one.fingerprint else "any data"
            raise SettingError(f"{one.source} holds settings of {where} on {on}, and none of that is compared here")


def tuned_remarks(paths: Iterable[str | os.PathLike[str]], jobs: Sequence[Job]) -> list[str]:
    """What makes a comparison with tuned settings less fair than it looks, a sentence each.

    A sampler that has settings to search and none from a file, and a file of trials on other terms than those of the jobs,
    or of a sampler whose code is another now.
    """
    from sahcns.lab.tune.space import Space
    from sahcns.samplers import Sampler
    from sahcns.settings import class_named

    files, found = [Tuned.read(path) for path in paths], dict[str, None]()
    for job in jobs if files else ():
        name, backbone = job.sampler["name"], job.backbone["name"]
        used = [one for one in files if name in one.samplers and one.fits(job.fingerprint, backbone)]
        if not used and Space.of(class_named(Sampler, name)).dimensions:
            found[f"{name} has no tuned settings for {job.data_name}, {backbone}: its defaults, or yours, stand"] = None
        here = {**job.protocol, **job.backbone}
        for one in used:
            searched = {key.rpartition(".")[2]: value for key, value in one.samplers[name].items() if "." in key}
            terms = {**one.terms, **searched}  # protocol.l2 may have been chosen for this sampler
            other = [f"{term} {was} (here {here[term]})" for term, was in terms.items() if here.get(term, was) != was]
            if other:
                found[f"{one.source} was tuned with {', '.join(other)}"] = None
            if one.code.get(name, job.code) != job.code:
                found[f"{one.source} was tuned with another version of {name}'s code; tune it again to be sure"] = None
    return list(found)
