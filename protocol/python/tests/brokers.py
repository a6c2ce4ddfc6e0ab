"""Brokers for tests: a real one, which can be killed and started again, and one that says what a test wants."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Awaitable, Callable, List, Optional, Set, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import plugboard

PROTOCOL = Path(__file__).resolve().parent.parent.parent
SECONDS = 300.0
"""How long to wait for what should happen at once: the machine may be busy."""
os.environ.setdefault("PLUGBOARD_TIMEOUT", str(SECONDS))

# It tells which steps take long, which depends on the machine.
logging.getLogger("asyncio").setLevel(logging.ERROR)

# `swift test` blocks signals, and programs inherit that.
signal.pthread_sigmask(signal.SIG_SETMASK, set())

T = TypeVar("T")


def command() -> str:
    """The command under test: `PLUGBOARD_COMMAND`, or else the `plugboard` of the path."""
    found = os.environ.get("PLUGBOARD_COMMAND") or shutil.which("plugboard")
    if not found:
        raise unittest.SkipTest("PLUGBOARD_COMMAND names no plugboard")
    return found


class Broker:
    """A broker in a temporary folder. With `journal` it keeps what it was told when it is killed."""

    def __init__(self, *, journal: bool = False, policy: Optional[str] = None) -> None:
        self.folder = tempfile.mkdtemp(prefix="pb")
        self.path = os.path.join(self.folder, "s")
        self.arguments = ["--state", os.path.join(self.folder, "j")] if journal else ["--memory"]
        if policy is not None:
            file = Path(self.folder, "policy.json")
            file.write_text(policy, encoding="utf-8")
            self.arguments += ["--policy", str(file)]
        self.process: Optional[subprocess.Popen[bytes]] = None
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [command(), "broker", "--ready", "--socket", self.path, *self.arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout
        if self.process.stdout.readline() != b"ready\n":
            self.kill()
            raise AssertionError("the broker doesn't start")

    def kill(self) -> None:
        """Ends it as a crash would."""
        if self.process and self.process.stdout:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def forget(self) -> None:
        """Removes the journal of a broker that was killed."""
        shutil.rmtree(os.path.join(self.folder, "j"))

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Peer:
    """A client that sends and reads lines as they are, through the library's own connection."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()
        self.wire = plugboard._Wire(self._take)

    def _take(self, _: plugboard._Wire, lines: List[bytes]) -> None:
        for line in lines:
            self.lines.put_nowait(line)

    @staticmethod
    async def connect(path: str) -> Peer:
        peer = Peer()
        await plugboard._dial(path, None, peer.wire, SECONDS)
        return peer

    async def line(self) -> Optional[bytes]:
        """The next line; None at the end."""
        getting = asyncio.ensure_future(self.lines.get())
        either: Set[asyncio.Future[Any]] = {getting, self.wire.ended}
        await asyncio.wait(either, timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            return getting.result()
        getting.cancel()
        if not self.wire.ended.done():
            raise AssertionError("nothing came")
        return None if self.lines.empty() else self.lines.get_nowait()

    async def text(self) -> str:
        line = await self.line()
        return "the end" if line is None else line.decode("utf-8", "replace")

    def send(self, line: bytes) -> None:
        self.wire.write(line)

    async def close(self) -> None:
        self.wire.fail(plugboard.Closed("the test is over"))
        await self.wire.ended


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class FakeBroker:
    """Listens where a broker would, and does with each connection what the test says."""

    GREETING = {
        "event": "hello", "broker": "plugboard", "version": "0", "protocol": 1, "epoch": "0123456789abcdef",
        "revision": 0, "client": 1, "limits": {"line": 1048576}, "features": ["since"],
    }  # fmt: skip

    def __init__(self, *talks: Talk) -> None:
        self.folder = tempfile.mkdtemp(prefix="pb")
        self.path = os.path.join(self.folder, "s")
        self.talks: List[Talk] = list(talks)
        self.connections = 0
        self.tasks: List[asyncio.Task[None]] = []
        self.writers: List[asyncio.StreamWriter] = []

    async def __aenter__(self) -> FakeBroker:
        self.server = await asyncio.start_unix_server(self._connected, self.path, limit=1 << 24)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for writer in self.writers:
            writer.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = self.talks[min(self.connections, len(self.talks) - 1)]
        self.connections += 1
        self.writers.append(writer)
        self.tasks.append(asyncio.ensure_future(self._talk(talk, reader, writer)))

    @staticmethod
    async def _talk(talk: Talk, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except OSError:
            pass  # The client has gone.
        finally:
            writer.close()


def say(writer: asyncio.StreamWriter, *lines: Any) -> None:
    """Sends lines: JSON, or bytes as they are."""
    for line in lines:
        writer.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")


async def heard(reader: asyncio.StreamReader) -> Any:
    """The next request."""
    return json.loads(await reader.readline())


async def until_goodbye(reader: asyncio.StreamReader) -> bytes:
    """Hears nothing but `goodbye` and the end. Returns the first request, or nothing."""
    first = b""
    while line := await reader.readline():
        op = json.loads(line)["op"].encode()
        first = first or op
        if op == b"goodbye":
            break
    return first


async def soon(work: Awaitable[T]) -> T:
    """What should come at once."""
    return await asyncio.wait_for(work, SECONDS)


async def eventually(what: str, condition: Callable[[], bool]) -> None:
    """Waits for a condition."""
    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS
    while not condition():
        if loop.time() > end:
            raise AssertionError(f"never: {what}")
        await asyncio.sleep(0.002)


class BrokerTestCase(unittest.IsolatedAsyncioTestCase):
    """Tests with a real broker."""

    journal = False

    def setUp(self) -> None:
        self.broker = Broker(journal=self.journal)
        self.addCleanup(self.broker.remove)

    async def bus(self, name: Optional[str] = None, **options: Any) -> plugboard.Bus:
        """An open bus, which the test's end closes."""
        bus = await plugboard.connect(name, self.broker.path, **options)
        self.addAsyncCleanup(bus.close)
        return bus
