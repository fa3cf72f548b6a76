"""Output files: regular ones are replaced; pipes, devices and descriptors are written to, and stay."""

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphprover.runtime import files
from graphprover.runtime.files import FileError, check_room, check_writable, opened_to_append, read_file, write

ROOT = Path(__file__).parents[2]
DATA = bytes(range(256)) * 1024  # more than a pipe holds


@contextmanager
def reader(fifo: Path) -> Iterator[Callable[[], bytes]]:
    """Make a named pipe and read it in a thread; yield the function that returns what came through it."""
    os.mkfifo(fifo)
    found = list[bytes]()
    thread = threading.Thread(target=lambda: found.append(fifo.read_bytes()), daemon=True)
    thread.start()

    def got() -> bytes:
        thread.join(60)
        return found[0]

    yield got


def node(path: Path, minor: int) -> None:
    """Make a device like /dev/null (3) or /dev/full (7), or skip the test without the right to do so."""
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, minor))
        path.open("wb").close()
    except PermissionError:
        pytest.skip("no right to make a device here")


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_gets_the_bytes(linked: bool, tmp_path: Path) -> None:
    fifo = path = tmp_path / "fifo"
    if linked:
        path = tmp_path / "link"
        path.symlink_to("fifo")
    with reader(fifo) as got:
        check_writable(path)
        check_room(path, 1 << 60)
        write(path, DATA)
        assert got() == DATA
    assert stat.S_ISFIFO(fifo.stat().st_mode) and path.is_symlink() == linked
    assert {found.name for found in tmp_path.iterdir()} <= {"fifo", "link"}


def test_lines_are_appended_to_a_pipe(tmp_path: Path) -> None:
    with reader(tmp_path / "fifo") as got:
        with opened_to_append(tmp_path / "fifo") as file:
            file.write(b"a\n")
            file.write(b"b\n")
        assert got() == b"a\nb\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no /proc")
def test_a_descriptor_that_does_not_block_gets_all_bytes() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    found = list[bytes]()
    with open(reader, "rb") as file:
        thread = threading.Thread(target=lambda: found.append(file.read()))
        thread.start()
        write(Path(f"/proc/self/fd/{writer}"), DATA)
        os.close(writer)
        thread.join(60)
    assert found == [DATA]


def test_a_pipe_that_nobody_reads_any_more_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with open(os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        thread = threading.Thread(target=lambda: (file.read(1), file.close()))
        opened = os.open(tmp_path / "fifo", os.O_WRONLY)
        os.write(opened, b"x")
        thread.start()
        thread.join()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", lambda path, flags: opened)
        with pytest.raises(FileError, match=r"fifo: Broken pipe"):
            write(tmp_path / "fifo", DATA)


def test_a_device_gets_the_bytes(tmp_path: Path) -> None:
    node(tmp_path / "nul", 3)
    check_writable(tmp_path / "nul")
    write(tmp_path / "nul", DATA)
    assert stat.S_ISCHR((tmp_path / "nul").stat().st_mode)
    node(tmp_path / "full", 7)
    with pytest.raises(FileError, match=r"full: No space left on device"):
        write(tmp_path / "full", DATA)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["full", "nul"]


def test_what_cannot_be_written_is_told_before(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder: name a file in it"):
        check_writable(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(FileError, match="is a socket"):
            check_writable(tmp_path / "socket")


@pytest.mark.parametrize("to_file", [False, True])
@pytest.mark.parametrize(("name", "number"), [("/dev/stdout", 1), ("/dev/fd/2", 2), ("link", 2)])
@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no /proc")
def test_a_descriptor_is_written_where_it_stands(name: str, number: int, to_file: bool, tmp_path: Path) -> None:
    """Neither is its file replaced, nor what is in it already."""
    (tmp_path / "link").symlink_to("/proc/self/fd/2")
    lines = [
        "import os, sys; from pathlib import Path; from graphprover.runtime import files",
        f"path = Path({name!r})",
        f"os.write({number}, b'before '); files.check_writable(path); files.write(path, b'bytes')",
        f"os.write({number}, b' after'); assert files.goes_to_stdout(path) == {number == 1}",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with (tmp_path / "out").open("wb") as file:
        streams = {"stdout": pipe, "stderr": pipe} | ({"stdout" if number == 1 else "stderr": file} if to_file else {})
        done = subprocess.run(command, env=environment, cwd=tmp_path, **streams)
    found = (tmp_path / "out").read_bytes() if to_file else (done.stdout if number == 1 else done.stderr)
    assert (done.returncode, found) == (0, b"before bytes after")


def test_a_longer_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 40)
    for read in (files.read_input, files.read_proof, lambda path: read_file(path, 1 << 20, "shorten it")):
        with pytest.raises(FileError, match=rf"^{path}: more than [0-9,]+ bytes: \w"):
            read(path)
    path.write_bytes(files.SHARDS_MAGIC)
    os.truncate(path, 1 << 40)
    with pytest.raises(FileError, match=r"more than 8,589,934,592 bytes"):
        files.read_proof(path)


@pytest.mark.parametrize("size", [0, 1, 5, 1 << 20, (1 << 20) + 1])
def test_what_comes_through_a_pipe_is_bounded(size: int, tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    for most in (size, size - 1):
        thread = threading.Thread(target=lambda: path.write_bytes(bytes(size)), daemon=True)
        thread.start()
        if most == size:
            assert read_file(path, most, "shorten it") == bytes(size)
        elif size:
            with pytest.raises(FileError, match=rf"fifo: more than {most:,} bytes: shorten it"):
                read_file(path, most, "shorten it")
        else:
            assert read_file(path, 0, "") == b""
        thread.join(60)
