"""What a process does that was forked off one with a bus, and what that one notices of it: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest
from typing import Dict

from brokers import SECONDS, Broker

import plugboard

PRELUDE = """
import asyncio, multiprocessing, os, signal, sys, threading, time
import plugboard

def told(work):
    try:
        work()
    except plugboard.BusError as error:
        return error.code
    return "nothing"

def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

path = sys.argv[1]
"""

BLOCKING = """
bus = plugboard.open("parent", path)
events = bus.subscribe("k")
events.next()
bus.publish("k", 1, while_connected=True)
"""

ASYNCIO = """
async def main():
    async with plugboard.connect("parent", path) as bus:
        events = await bus.subscribe("k", initial=False)
        await bus.publish("k", 1, while_connected=True)
        child = os.fork()
        if child == 0:
            {child}
        print(ended(child))
        print((await events.__anext__()).value, await bus.publish("k", 2), (await events.__anext__()).value)
        print(await asyncio.to_thread(int, "3"))

asyncio.run(main())
"""


class ForkTests(unittest.TestCase):
    def setUp(self) -> None:
        self.broker = Broker()
        self.addCleanup(self.broker.remove)

    def start(self, script: str) -> "subprocess.Popen[str]":
        # It isn't told of warnings: newer Pythons warn of every fork beside a thread.
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PRELUDE + script, self.broker.path],
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def environment() -> Dict[str, str]:
        return {**os.environ, "PYTHONPATH": os.path.dirname(plugboard.__file__)}

    @staticmethod
    def end(process: "subprocess.Popen[str]") -> None:
        # With its children, which may outlive it.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()

    def says(self, script: str) -> str:
        process = self.start(script)
        output, _ = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0, output)
        return output

    def test_each_request_of_a_child_fails_at_once(self) -> None:
        output = self.says(
            BLOCKING
            + """
child = os.fork()
if child == 0:
    print(told(lambda: bus.get("k")), told(lambda: bus.subscribe("k")), told(events.next), flush=True)
    print(told(lambda: bus.serve("k")(print)), told(bus.forever), told(bus.sync), bus.closed, flush=True)
    events.close()
    bus.goodbye()
    os._exit(0)
print(ended(child), events.next().value, bus.publish("k", 2), events.next().value)
"""
        )
        self.assertEqual(
            output.split("\n"), ["forked forked forked", "forked forked forked True", "0 1 2 2", ""]
        )

    def test_a_child_ends_and_the_parent_goes_on(self) -> None:
        for way, status in (
            ("sys.exit(0)", 0),
            ("sys.exit(3)", 3),
            ("bus.publish('k', 5)", 1),
            ("pass", 0),
        ):
            with self.subTest(way):
                output = self.says(
                    f"""
with plugboard.open("parent", path) as bus, bus.subscribe("k", initial=False) as events:
    bus.publish("k", 1, while_connected=True)
    child = os.fork()
    if child == 0:
        sys.stderr = open(os.devnull, "w")
        {way}
    else:
        print(ended(child), events.next().value, bus.publish("k", 2), events.next().value)
"""
                )
                self.assertRegex(output, f"^{status} 1 [0-9]+ 2\n$")

    def test_the_child_of_a_program_with_asyncio_ends_and_the_parent_goes_on(self) -> None:
        for way, status in (
            ("sys.exit(0)", 0),
            ("sys.exit(3)", 3),
            ("sys.stderr = open(os.devnull, 'w'); await bus.get('k')", 1),
            ("sys.stderr = open(os.devnull, 'w'); await events.__anext__()", 1),
            ("return", 0),
        ):
            with self.subTest(way):
                output = self.says(ASYNCIO.format(child=way))
                self.assertRegex(output, f"^{status}\n1 [0-9]+ 2\n3\n$")

    def test_multiprocessing_works_beside_a_bus(self) -> None:
        output = self.says(
            BLOCKING
            + """
def work(number):
    return number, told(lambda: bus.get("k")), own()

def own():
    with plugboard.open("child", path) as bus:
        return bus.get("k")

def leave():
    sys.exit(7)

forking = multiprocessing.get_context("fork")
with forking.Pool(2) as pool:
    print(pool.map(work, range(2)))
process = forking.Process(target=leave)
process.start()
process.join()
print(process.exitcode, bus.get("k"))
"""
        )
        self.assertEqual(output, "[(0, 'forked', 1), (1, 'forked', 1)]\n7 1\n")

    def test_a_fork_beside_requests_of_other_threads(self) -> None:
        output = self.says(
            BLOCKING
            + """
stop = threading.Event()

def work():
    while not stop.is_set():
        bus.publish("other", 1)

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(told(bus.sync) != "forked")
    assert ended(child) == 0
stop.set()
for thread in threads:
    thread.join()
print(bus.get("k"))
"""
        )
        self.assertEqual(output, "1\n")

    def test_a_bus_that_was_not_open_is_opened_by_the_child(self) -> None:
        output = self.says(
            """
bus = plugboard.connect("child", path)
child = os.fork()
if child:
    print(ended(child))
else:
    async def main():
        async with bus:
            await bus.publish("k", 1)
    asyncio.run(main())
"""
        )
        self.assertEqual(output, "0\n")

    def test_the_connection_ends_with_the_parent(self) -> None:
        with plugboard.open(path=self.broker.path) as bus, bus.subscribe("k", initial=False) as events:
            # Both run until this test is over.
            parent = self.start(BLOCKING + "os.fork()\nprint(os.getpid(), flush=True)\nsys.stdin.read()")
            event = events.next(SECONDS)
            assert event and parent.stdout
            self.assertEqual((event.value, event.by), (1, "parent"))
            for _ in range(2):
                parent.stdout.readline()
            parent.kill()
            event = events.next(SECONDS)
            assert event
            self.assertEqual(event.kind, "delete")

    def test_a_plugin_and_its_children_get_their_own_signals(self) -> None:
        with plugboard.open(path=self.broker.path) as bus:
            events = bus.subscribe("ended").updates()
            process = self.start(
                """
def work():
    time.sleep(600)

async def main(bus):
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    await asyncio.sleep(0.05)
    process.terminate()
    await asyncio.to_thread(process.join)
    await bus.publish("ended", process.exitcode)

plugboard.run("parent", main, path=path)
"""
            )
            event = events.next(SECONDS)
            assert event
            self.assertEqual(event.value, -signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.communicate(timeout=SECONDS)[0], "")
            self.assertEqual(process.returncode, 0)
