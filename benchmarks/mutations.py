"""Ways to damage the files of a folder, chosen by chance: what a disk, a careless copy or an enemy would do."""

import io
import json
import os
import random
import struct
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from sahcns.files import DIGEST, digest_of

Chance = random.Random
RAW = "@raw@"  # a text in JSON that is replaced by what no value of Python can be
RAWS = ["NaN", "-Infinity", "1e999", "9" * 5000, "[" * 100_000 + "]" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000, "01"]
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**70), 0.5, -1e308, "", "x", "../outside", "/etc/passwd", "a/../../b",
    "\ud800", "\x00", "\x1b[2J", "=1+1", "é" * 40, "y" * 100_000, "__class__", "nan", "sahc", [], {}, [[]], [None], ["x", 1],
    {"name": "dns"}, {"name": "sahc", "pool": -1}, {"name": 3},
    {"low": 0, "high": 0, "log": True}, {"best": {"recall@20": "x"}},
]  # fmt: skip
WORDS = [
    b'"', b"\n", b"\r", b"\r\n", b",", b"\t", b"::", b"NaN", b"inf", b"\xff", b"\x00", b"-", b"9" * 22, b"9" * 400, b"{",
    b"[" * 3000, b"0x1F",
    b"1e999", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"null", b"=1+1", b" " * 70_000, b"a," * 3000, b"\n" * 9000,
]  # fmt: skip


def mutate(chance: Chance, folder: Path, outside: Path, which: str = "*") -> str:
    """Damage one file of a folder; in words, what was done."""
    path = chance.choice(sorted(one for one in folder.rglob(which) if one.is_file()))
    own = {".json": change_json, ".npy": change_npy, ".npz": change_npz, ".safetensors": change_tensors}.get(
        path.suffix
    )
    ways: list[Callable[[Chance, Path], str]]
    ways = [change_bytes, own or change_bytes, partial(replace_file, outside=outside)]
    try:
        done = chance.choices(ways, [3, 5, 1])[0](chance, path)
    except (
        ValueError,
        TypeError,
        OverflowError,
        LookupError,
        UnicodeError,
    ) as error:  # a change that cannot be written
        done = f"nothing ({error})"
    return f"{path.relative_to(folder)}: {done}"


def change_bytes(chance: Chance, path: Path) -> str:
    """Bits flipped, bytes changed, cut out, put in, repeated, zeroed, or the end missing."""
    data, done = bytearray(path.read_bytes()), []
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        at, size = chance.randrange(len(data) + 1), chance.choice([1, 1, 2, 8, 64, 4096])
        way = chance.choice(["flip", "flip", "change", "cut", "put", "repeat", "zero", "end"])
        match way:
            case "flip" if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case "change":
                data[at : at + size] = chance.randbytes(size)
            case "cut":
                del data[at : at + size]
            case "put":
                data[at:at] = chance.choice(WORDS)
            case "repeat":
                data[at:at] = data[at : at + size] * chance.choice([1, 2, 100])
            case "zero":
                data[at : at + size] = bytes(len(data[at : at + size]))
            case "end":
                del data[at:]
        done.append(f"{way} {size} at {at}")
    path.write_bytes(data)
    return ", ".join(done)


def replace_file(chance: Chance, path: Path, outside: Path) -> str:
    """Something else in its place: nothing, a folder, a link, a pipe, a device, or a file without end."""
    way = chance.choice(["gone", "folder", "link", "dangling", "loop", "pipe", "device", "huge", "sibling", "empty"])
    others = sorted(one for one in path.parent.iterdir() if one.is_file())
    other = chance.choice(others).read_bytes()
    path.unlink()
    match way:
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(outside)
        case "dangling":
            path.symlink_to("nowhere")
        case "loop":
            path.symlink_to(path.name)
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to(chance.choice(["/dev/zero", "/dev/null", "/dev/stdin"]))
        case "huge":
            with open(path, "wb") as file:
                file.truncate(1 << 40)
        case "sibling":
            path.write_bytes(other)
        case "empty":
            path.touch()
    return way


def change_json(chance: Chance, path: Path) -> str:
    """A value of another kind, a key gone, new, twice or misspelt, two values swapped, or what is no JSON."""
    values = json.loads(path.read_text("utf-8"))
    raw, done, places = "", "nothing", list(_places(values))
    for _ in range(chance.choice([1, 1, 2])):
        if not places:
            break
        holder, key = chance.choice(places)
        if not (key in holder if isinstance(holder, dict) else key < len(holder)):
            continue  # gone by now
        way = chance.choice(["value", "value", "raw", "drop", "rename", "add", "swap", "twice", "wrap", "number"])
        match way:
            case "raw" | "twice":
                raw = chance.choice(RAWS) if way == "raw" else f'1, {json.dumps(str(key))}: {{"a": 2}}'
                holder[key] = RAW
            case "drop":
                del holder[key]
            case "rename" if isinstance(holder, dict):
                holder[chance.choice([f"{key}x", "../" + key, "", "\ud800", "__init__"])] = holder.pop(key)
            case "add" if isinstance(holder, dict):
                holder[chance.choice(["unknown", "path", "folder", "self", "../../x"])] = chance.choice(VALUES)
            case "swap":
                there, other = chance.choice(places)
                if other in there if isinstance(there, dict) else other < len(there):
                    holder[key], there[other] = there[other], holder[key]
                    if _depth(values) > 50:  # a value within itself
                        return "nothing"
            case "wrap":
                holder[key] = chance.choice([[holder[key]], {"a": holder[key]}, str(holder[key])])
            case "number" if isinstance(holder[key], int | float):
                holder[key] = chance.choice([-holder[key], holder[key] + 1, holder[key] * 2**40, float(holder[key])])
            case _:
                holder[key] = chance.choice(VALUES)
        done = f"{way} {key!r}"
    path.write_text(json.dumps(values).replace(json.dumps(RAW), raw), "utf-8")
    return done


def _places(value: Any) -> Any:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _depth(value: Any, most: int = 60) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 0 if not most else 1 + max((_depth(one, most - 1) for one in inner), default=0)


def change_array(chance: Chance, array: np.ndarray) -> np.ndarray:
    """Another type, shape, length or order; positions that are not there, numbers that are none."""
    array = np.array(array)
    at, most = chance.randrange(max(array.size, 1)), 127 if array.dtype.itemsize == 1 else 2**31 - 1
    match chance.choice(["type", "shape", "short", "long", "number", "number", "number", "order", "text", "same"]):
        case "type":
            return array.astype(chance.choice(["<f4", "<f8", "<i8", "<i4", ">i4", "<u1", "<c8", "?", "<f2", "<u4"]))
        case "shape":
            return array.reshape(chance.choice([(-1, 1), (1, -1), (1, 1, -1)]))
        case "short":
            return array[: chance.choice([0, 1, len(array) - 1])] if array.ndim else array
        case "long":
            return np.concatenate([array, array]) if array.ndim else array[None]
        case "number" if array.size and array.dtype.kind in "iuf":
            odd = [-1, 0, 1, most, -most, 10**6, 200] + ([np.nan, np.inf, 1e38] if array.dtype.kind == "f" else [])
            array.flat[at] = np.array(chance.choice(odd)).astype(array.dtype)
        case "order":
            return array[::-1].copy() if array.ndim else array
        case "text":
            return np.array([f"t{k}" for k in range(max(len(array), 1) if array.ndim else 1)])
        case "same" if array.size:
            array[...] = array.flat[at]
    return array


def change_npy(chance: Chance, path: Path) -> str:
    if chance.random() < 0.2:  # a header that lies
        head = chance.choice(["(10**12,)", "(-1,)", "(1000000000000,)", "(2**70,)", "()", "3", "[1]", "(" * 3000])
        kind = chance.choice(["'<i4'", "'|O'", "'<i8'", "[('a','<i4')]", "'<V8'", "'S9999999'", "__import__('os')"])
        text = f"{{'descr': {kind}, 'fortran_order': {chance.choice(['False', 'True', '3'])}, 'shape': {head}, }}\n".encode()
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + path.read_bytes()[128:])
        return f"header {text[:90]!r}"
    array = change_array(chance, np.load(path))
    np.save(path, array)
    return f"array {array.dtype} {array.shape}"


def change_npz(chance: Chance, path: Path) -> str:
    with np.load(path) as kept:
        arrays = {name: kept[name] for name in kept.files}
    name = chance.choice(sorted(arrays))
    match chance.choice(["array", "array", "array", "drop", "rename", "bomb"]):
        case "array":
            arrays[name] = change_array(chance, arrays[name])
        case "drop":
            del arrays[name]
        case "rename":
            arrays[chance.choice(["../x", "recall@7", "file", ""])] = arrays.pop(name)
        case "bomb":
            arrays[name] = np.zeros(30_000_000, np.float32)
    packed = io.BytesIO()
    pack: Callable[..., None] = np.savez_compressed
    pack(packed, **arrays) if "file" not in arrays else np.savez(packed, x=arrays["file"])
    path.write_bytes(packed.getvalue())
    return f"arrays, {name}"


def change_tensors(chance: Chance, path: Path) -> str:
    from safetensors.numpy import load_file, save

    if chance.random() < 0.3:  # the header, which is JSON
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = path.with_name("header.json")
        header.write_bytes(data[8 : 8 + size])
        done = change_json(chance, header)
        text = header.read_bytes()
        header.unlink()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
        return f"header, {done}"
    tensors = load_file(path)
    name = chance.choice(sorted(tensors))
    match chance.choice(["array", "array", "array", "array", "drop", "rename", "add"]):
        case "drop":
            del tensors[name]
        case "rename":
            tensors[f"{name}x"] = tensors.pop(name)
        case "add":
            tensors[chance.choice(["x", "sampler.x", "users", "__class__"])] = np.zeros(3, np.float32)
        case _:
            changed = change_array(chance, tensors[name])
            tensors[name] = (
                np.zeros(3, np.float32)
                if changed.dtype.kind in "Uc"
                else changed.astype(changed.dtype.newbyteorder("="))
            )
    path.write_bytes(save({key: np.ascontiguousarray(value) for key, value in tensors.items()}))
    return f"tensors, {name}"


def seal(folder: Path) -> None:
    """Make sizes and digests right again, as somebody would who wants damage to be read."""
    for path in sorted(folder.rglob("*.json")):
        if not path.is_file() or path.stat().st_size > 1 << 20:
            continue
        try:
            values = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        listed = values.get("files") if isinstance(values, dict) else None
        for name, entry in listed.items() if isinstance(listed, dict) else ():
            beside = path.parent / name.replace("\x00", "")
            if isinstance(entry, dict) and beside.is_file() and beside.stat().st_size < 1 << 30:
                content = beside.read_bytes()
                entry |= {"bytes": len(content), "sha256": sha256(content).hexdigest()}
        users = path.parents[1] / "users" / f"{path.stem}.npz"
        if isinstance(values, dict) and "users_sha256" in values and users.is_file() and users.stat().st_size < 1 << 30:
            values["users_sha256"] = sha256(users.read_bytes()).hexdigest()
        if isinstance(values, dict) and DIGEST in values:
            values[DIGEST] = digest_of(values)
        path.write_text(json.dumps(values), "utf-8")
