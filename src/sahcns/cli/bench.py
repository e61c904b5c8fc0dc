"""`sahcns bench`."""

from dataclasses import asdict
from typing import Annotated

from sahcns.cli.console import Json, show, show_json, table
from sahcns.cli.dataset import warn_of_full_users
from sahcns.cli.options import DATA, Backbone, Device, Imports, Sampler, import_files, option
from sahcns.cli.process import tune_malloc


def command(
    data: Annotated[str, DATA],
    backbone: Backbone = None,
    sampler: Sampler = None,
    settings: Annotated[
        list[str] | None, option("Set the sampler's NAME, or backbone.NAME. Repeat for more.", "NAME=VALUE", "--set")
    ] = None,
    device: Device = None,
    kernels: Annotated[str, option("auto, or reference for plain torch.", "NAME")] = "auto",
    epochs: Annotated[int, option("Epochs to time after the first.", "NUMBER", min=1)] = 3,
    imports: Imports = None,
    json: Json = False,
) -> None:
    """Where the time of training goes on this machine, part by part, and how near each part comes to the memory's limit.

    Times are medians. Bytes are what the algorithm must touch; the share is of the bandwidth of a large copy measured in
    the same run, so more than 100 % means that caches served it.

    Examples: sahcns bench films
              sahcns bench films --sampler dns --set pool=100
              sahcns bench films --kernels reference
    """
    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.plan import build, parse_parts
    from sahcns.data import load_split
    from sahcns.lab.bench import bench
    from sahcns.training.device import answering, pick_device

    tune_malloc()
    import_files(imports or ())
    model, chooser, _, protocol = build(parse_parts(settings or [], backbone=backbone, sampler=sampler))
    split = load_split(prepared_folder(data))
    where = pick_device(device or "auto")
    with answering(where):
        measured = bench(split, model, chooser, protocol, where, kernels, epochs)
    warn_of_full_users(measured.users_with_every_item, split.n_items)
    if json:
        show_json(asdict(measured))
        return
    rows = table("part", ">us a step", ">share", ">MB", ">GB/s", ">of copy")
    total = sum(part.seconds for part in measured.parts[:-1])
    for part in measured.parts:
        share = "" if part.name == "evaluate" else f"{100 * part.seconds / total:.0f} %"
        numbers = (f"{part.bytes / 1e6:,.1f}", f"{part.rate() / 1e9:,.1f}")
        of_copy = f"{100 * part.rate() / measured.copy_rate:.0f} %"
        rows.add_row(part.name, f"{1e6 * part.seconds:,.1f}", share, *numbers, of_copy)
    show(
        rows,
        "",
        f"{measured.device}, {measured.kernels} kernels, {measured.mode}: a whole step {1e6 * measured.step_seconds:,.1f} us, "
        f"an epoch of {measured.steps} steps {1e3 * measured.epoch_seconds:,.1f} ms",
        f"a large copy moves {measured.copy_rate / 1e9:,.1f} GB/s"
        + (f"; at most {measured.peak_bytes / 2**20:,.0f} MiB on the device" if measured.peak_bytes else ""),
    )
