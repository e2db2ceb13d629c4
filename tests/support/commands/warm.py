"""`proxyctl` from a process that has imported everything, and forks for every command.

A cold interpreter takes half a second to import the command line; a fork takes some milliseconds.
The command is a process of its own all the same, with the arguments, the environment, the folder
and the three streams of whoever called it.

    with Warm(folder) as warm:
        subprocess.run([*warm.command, "plan"])

The client is a script that imports next to nothing. It sends its streams through a socket, passes
signals on, and ends with the exit code of the command.
"""

from __future__ import annotations

import array
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

CLIENT = """\
import _socket, marshal, os, signal, sys

request = marshal.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)])
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect(sys.argv[1])
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
server.sendmsg(
    [len(request).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
)
server.sendall(request)
pid = int(server.recv(8))
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, frame: os.kill(pid, number))
answer = server.recv(16)
sys.exit(int(answer) if answer else 255)
"""


class Warm:
    """The process that forks. `command` stands for `proxyctl` wherever a command line is made."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "warm.socket"
        self._client = folder / "warm_client.py"

    @property
    def command(self) -> list[str]:
        """The command line to put before the arguments."""
        return [sys.executable, "-I", "-S", str(self._client), str(self._socket)]

    def __enter__(self) -> Self:
        self._client.write_text(CLIENT, encoding="utf-8")
        command = [sys.executable, "-m", "tests.support.commands.warm", str(self._socket)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        while not self._socket.exists():
            if self._process.poll() is not None:
                raise RuntimeError("the warm process ended by itself")
            time.sleep(0.02)
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait()


def serve(path: str) -> None:
    """Fork for every command, until a signal ends this process."""
    _import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(path + ".new")
        listening.listen(64)
        os.rename(path + ".new", path)
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _one(connection)
            connection.close()


def _import_everything() -> None:
    import proxyctl
    from proxyctl.cli.app import build, commands_of

    commands_of(build([]))
    folder = Path(proxyctl.__path__[0])
    for file in sorted(folder.rglob("*.py")):
        name = ".".join(file.relative_to(folder.parent).with_suffix("").parts)
        if not name.endswith(("__main__", "__init__")):
            with suppress(ImportError):
                __import__(name)
    __import__("tests.support.commands.preloaded")


def _one(connection: socket.socket) -> None:
    """Run one command in a process of its own, and send its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    streams, arguments, folder, environment = _received(connection)
    pid = os.fork()
    if pid == 0:
        connection.close()
        _run(streams, arguments, folder, environment)
    # Of one width: the exit code may be there before the client reads.
    connection.sendall(f"{pid:8}".encode())
    for stream in streams:
        os.close(stream)
    with open(os.pidfd_open(pid)) as ended:
        while True:
            ready, _, _ = select.select([ended, connection], [], [])
            if ended in ready:
                break
            if connection in ready and not connection.recv(1):
                os.kill(pid, signal.SIGTERM)  # the client was killed
                break
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with suppress(OSError):
        connection.sendall(str(code if code >= 0 else 128 - code).encode())
    os._exit(0)


def _received(connection: socket.socket) -> tuple[list[int], list[str], str, dict[str, str]]:
    size, rights, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    streams = array.array("i")
    streams.frombytes(rights[0][2])
    text = b""
    while len(text) < int.from_bytes(size, "big"):
        text += connection.recv(65536)
    arguments, folder, environment = marshal.loads(text)
    return list(streams), arguments, folder, environment


def _run(
    streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]
) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["proxyctl", *arguments]
    code = 255
    try:
        from proxyctl.__main__ import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
