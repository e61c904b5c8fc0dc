"""`sahcns bench`."""

from typing import Annotated

import typer

from sahcns.cli.console import Json, show, show_json, table
from sahcns.cli.dataset import warn_of_full_users
from sahcns.cli.options import Imports, import_files
from sahcns.cli.process import tune_malloc


def command(
    data: Annotated[
        str, typer.Argument(metavar="DIR", help="A prepared folder, or ml-latest-small, which ships inside.")
    ],
    backbone: Annotated[str | None, typer.Option(metavar="NAME", help="See `sahcns backbones` (lightgcn).")] = None,
    sampler: Annotated[str | None, typer.Option(metavar="NAME", help="See `sahcns samplers` (sahc).")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set the sampler's NAME, or backbone.NAME. Repeat for more."),
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1.")] = "auto",
    kernels: Annotated[str, typer.Option(metavar="NAME", help="auto, or reference for plain torch.")] = "auto",
    epochs: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Epochs to time after the first.")] = 3,
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
    from dataclasses import asdict

    from sahcns.cli.dataset import prepared_folder
    from sahcns.cli.plan import Plan, parse_settings
    from sahcns.data import load_split
    from sahcns.lab.bench import bench
    from sahcns.training.device import answering, pick_device

    tune_malloc()
    import_files(imports or ())
    values = parse_settings(settings or [], ("backbone", "sampler"))
    plan = Plan(
        backbone=backbone, sampler=sampler, backbone_settings=values["backbone"], sampler_settings=values["sampler"]
    )
    model, chooser, protocol = plan.build()
    split = load_split(prepared_folder(data))
    where = pick_device(device)
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
        rows.add_row(
            part.name,
            f"{1e6 * part.seconds:,.1f}",
            share,
            f"{part.bytes / 1e6:,.1f}",
            f"{part.rate() / 1e9:,.1f}",
            f"{100 * part.rate() / measured.copy_rate:.0f} %",
        )
    show(
        rows,
        "",
        f"{measured.device}, {measured.kernels} kernels, {measured.mode}: a whole step {1e6 * measured.step_seconds:,.1f} us, "
        f"an epoch of {measured.steps} steps {1e3 * measured.epoch_seconds:,.1f} ms",
        f"a large copy moves {measured.copy_rate / 1e9:,.1f} GB/s"
        + (f"; at most {measured.peak_bytes / 2**20:,.0f} MiB on the device" if measured.peak_bytes else ""),
    )
