"""What a comparison takes over from `tuned.json`, and what makes it less fair than it looks. Read without torch."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sahcns.errors import SettingError
from sahcns.lab.tune.search import read_tuned
from sahcns.lab.tune.space import Space

if TYPE_CHECKING:
    from sahcns.lab.grid.job import Job


@dataclass(frozen=True)
class Tuned:
    """One `tuned.json`; where it does not say on what set or backbone it was tuned, it holds for all."""

    source: str
    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Tuned":
        """From the file, or the folder that holds it."""
        return cls(str(path), read_tuned(path))

    @property
    def samplers(self) -> Mapping[str, Mapping[str, Any]]:
        return self.content.get("samplers") or {}

    def fits(self, fingerprint: str, backbone: str, sampler: str) -> bool:
        """Whether it has settings of the sampler that were tuned there."""
        data, model = (self.content.get(name, {}) for name in ("data", "backbone"))
        there = data.get("fingerprint", fingerprint) == fingerprint and model.get("name", backbone) == backbone
        return there and sampler in self.samplers

    def fits_job(self, job: "Job") -> bool:
        return self.fits(job.fingerprint, job.backbone["name"], job.sampler["name"])


def tuned_for(files: Iterable[Tuned], fingerprint: str, backbone: str, sampler: str) -> dict[str, Any]:
    """The sampler's own settings chosen there; nothing if nobody tuned it there."""
    fitting = [one for one in files if one.fits(fingerprint, backbone, sampler)]
    if len(fitting) > 1:
        first, second = fitting[0].source, fitting[1].source
        raise SettingError(f"{first} and {second} both have settings for {sampler}; give one of them")
    return {name: value for one in fitting for name, value in one.samplers[sampler].items() if "." not in name}


def refuse_unused(files: Iterable[Tuned], jobs: Collection["Job"]) -> None:
    """An error for a file that fits nothing that is compared: its settings would be left out in silence."""
    for one in files:
        if not any(map(one.fits_job, jobs)):
            data, backbone = one.content.get("data", {}), one.content.get("backbone", {}).get("name", "any backbone")
            on = f"{data.get('name', '')} ({data['fingerprint'][:10]})" if "fingerprint" in data else "any data"
            what = f"{', '.join(one.samplers) or 'nothing'} with {backbone} on {on}"
            raise SettingError(f"{one.source} holds settings of {what}, and none of that is compared here")


def tuned_remarks(paths: Iterable[str | os.PathLike[str]], jobs: Iterable["Job"]) -> list[str]:
    """What makes a comparison with tuned settings less fair than it looks, a sentence each.

    A sampler that has settings to search and none from a file, and a file of trials on other terms than those of the jobs,
    or of a sampler whose code is another now.
    """
    from sahcns.samplers import Sampler
    from sahcns.settings import class_named

    files, remarks = [Tuned.read(path) for path in paths], []
    for job in jobs if files else ():
        name, here = job.sampler["name"], {**job.protocol, **job.backbone}
        used = [one for one in files if one.fits_job(job)]
        if not used and Space.of(class_named(Sampler, name)).dimensions:
            where = f"{job.data_name}, {job.backbone['name']}"
            remarks.append(f"{name} has no tuned settings for {where}: its defaults, or yours, stand")
        for one in used:
            searched = {key.rpartition(".")[2]: value for key, value in one.samplers[name].items() if "." in key}
            terms = {**one.content.get("protocol", {}), **one.content.get("backbone", {}), **searched}
            terms.pop("mask", None)  # of the test ranking, which no trial saw
            other = [f"{term} {was} (here {here[term]})" for term, was in terms.items() if here.get(term, was) != was]
            if other:
                remarks.append(f"{one.source} was tuned with {', '.join(other)}")
            if one.content.get("code", {}).get(name, job.code) != job.code:
                remarks.append(
                    f"{one.source} was tuned with another version of {name}'s code; tune it again to be sure"
                )
    return list(dict.fromkeys(remarks))
