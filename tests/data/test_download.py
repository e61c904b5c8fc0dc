"""Downloads against a real server: whole, cut, resumed, changed, damaged, refused."""

import fcntl
import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from sahcns.data import download
from sahcns.data.download import DownloadError
from tests.data.http_host import Host, serve

BODY = bytes(range(256)) * 4000  # a megabyte, several chunks
SUM = hashlib.sha256(BODY).hexdigest()
CUT = 300_000

fetch = partial(download.fetch, pause=0.0, timeout=5.0)


@pytest.fixture
def host() -> Iterator[Host]:
    with serve(Host({"/set.bin": BODY})) as running:
        yield running


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_whole_file_arrives_and_progress_is_reported(host: Host, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    target = fetch(host.url + "/set.bin", tmp_path / "new" / "set.bin", sha256=SUM, report=lambda *s: seen.append(s))
    assert target.read_bytes() == BODY
    assert left(target.parent) == {"set.bin"}
    assert seen[0] == (0, len(BODY))
    assert seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_cut_connection_leaves_a_part_that_the_next_call_finishes(host: Host, tmp_path: Path) -> None:
    host.cut_after = [CUT]
    url, target = host.url + "/set.bin", tmp_path / "set.bin"
    with pytest.raises(DownloadError, match=r"cut after 300,000 of 1,024,000 bytes"):
        # the first request is cut after new bytes, which is progress; the second brings nothing
        fetch(url, target, sha256=SUM, tries=1, report=_stop_serving(host))
    assert left(tmp_path) == {"set.bin.part"}
    assert (tmp_path / "set.bin.part").read_bytes() == BODY[:CUT]

    host.cut_after, host.asked[:] = [], []
    assert fetch(url, target, sha256=SUM).read_bytes() == BODY
    assert host.asked == [("/set.bin", f"bytes={CUT}-")]
    assert left(tmp_path) == {"set.bin"}


def _stop_serving(host: Host) -> download.Report:
    """After the first bytes every further request is cut at once."""

    def report(done: int, total: int | None) -> None:
        if done:  # before that, the server may not have looked yet where it is to cut this one
            host.cut_after = [0]

    return report


def test_one_call_goes_on_over_several_cuts(host: Host, tmp_path: Path) -> None:
    host.cut_after = [CUT, CUT, CUT]
    fetch(host.url + "/set.bin", tmp_path / "set.bin", sha256=SUM, tries=1)
    assert [wanted for _, wanted in host.asked] == [None, f"bytes={CUT}-", f"bytes={2 * CUT}-", f"bytes={3 * CUT}-"]
    assert (tmp_path / "set.bin").read_bytes() == BODY


def test_a_damaged_byte_is_a_checksum_error_and_leaves_nothing(host: Host, tmp_path: Path) -> None:
    damaged = bytearray(BODY)
    damaged[500_000] ^= 1
    host.files["/set.bin"] = bytes(damaged)
    with pytest.raises(DownloadError, match=rf"not the expected file: its SHA-256 is [0-9a-f]{{64}}, not {SUM}"):
        fetch(host.url + "/set.bin", tmp_path / "set.bin", sha256=SUM)
    assert left(tmp_path) == set()
    assert len(host.asked) == 1


def start_part(host: Host, folder: Path) -> None:
    """Leave CUT bytes behind, as an earlier call would that was killed."""
    host.cut_after = [CUT]

    class Killed(BaseException):
        pass

    def kill(done: int, total: int | None) -> None:
        if done == CUT:
            raise Killed

    with pytest.raises(Killed):
        fetch(host.url + "/set.bin", folder / "set.bin", report=kill)
    assert (folder / "set.bin.part").stat().st_size == CUT
    host.asked.clear()


def test_a_killed_download_is_resumed(host: Host, tmp_path: Path) -> None:
    start_part(host, tmp_path)
    seen: list[int] = []
    fetch(host.url + "/set.bin", tmp_path / "set.bin", sha256=SUM, report=lambda done, total: seen.append(done))
    assert host.asked == [("/set.bin", f"bytes={CUT}-")]
    assert seen[0] == CUT
    assert (tmp_path / "set.bin").read_bytes() == BODY


def damage(host: Host, part: Path) -> None:
    changed = part.stat().st_mtime
    part.write_bytes(b"\xff" + BODY[1:CUT])
    os.utime(part, (changed, changed))


def ignore_range(host: Host, part: Path) -> None:
    host.ranges = False


def change_file(host: Host, part: Path) -> None:
    host.changed, host.files["/set.bin"] = 2, BODY[::-1]


def shorten_file(host: Host, part: Path) -> None:
    host.files["/set.bin"], host.if_range = BODY[:1000], False  # so that the server answers 416


@pytest.mark.parametrize(
    ("meanwhile", "requests"), [(damage, 2), (ignore_range, 1), (change_file, 1), (shorten_file, 2)]
)
def test_a_part_that_cannot_be_gone_on_with_starts_over(
    host: Host, tmp_path: Path, meanwhile: Callable[[Host, Path], None], requests: int
) -> None:
    start_part(host, tmp_path)
    meanwhile(host, tmp_path / "set.bin.part")
    fetch(host.url + "/set.bin", tmp_path / "set.bin", sha256=SUM if meanwhile is damage else None)
    assert [wanted for _, wanted in host.asked] == [f"bytes={CUT}-", None][:requests]
    assert (tmp_path / "set.bin").read_bytes() == host.files["/set.bin"]


def test_without_a_date_nothing_is_kept_of_a_cut_file(host: Host, tmp_path: Path) -> None:
    host.changed, host.cut_after = None, [CUT]
    fetch(host.url + "/set.bin", tmp_path / "set.bin", sha256=SUM)
    assert [wanted for _, wanted in host.asked] == [None, None]


def test_503_is_tried_again(host: Host, tmp_path: Path) -> None:
    host.statuses = [503, 429]
    fetch(host.url + "/set.bin", tmp_path / "set.bin", sha256=SUM)
    assert len(host.asked) == 3


def test_a_server_that_never_answers_is_left_in_time(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(DownloadError, match="did not answer in time"):
            fetch(url, tmp_path / "x", tries=1, timeout=0.2)


def test_two_downloads_into_one_folder_do_not_meet(host: Host, tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(DownloadError, match="another download into"):
            fetch(host.url + "/set.bin", tmp_path / "set.bin")
    finally:
        os.close(handle)
    fetch(host.url + "/set.bin", tmp_path / "set.bin", sha256=SUM)


def test_a_body_without_a_length_that_is_cut_is_never_taken_for_whole(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n10\r\nwor")

        server = threading.Thread(target=answer)
        server.start()
        with pytest.raises(DownloadError, match="cut"):
            fetch(f"http://127.0.0.1:{listener.getsockname()[1]}/x", tmp_path / "x", tries=1)
        server.join()
    assert "x" not in left(tmp_path)
