"""Plays every session of `protocol/transcripts` with a real broker, through the library's connection."""

from __future__ import annotations

import asyncio
import re
import unittest
from pathlib import Path

from brokers import PROTOCOL, Broker, command
from sessions import Session, mismatch

AT_A_TIME = 8
# What only a broker does whose clock and sockets are played, or one that is begun again, or one for several users; and
# what comes many times.
PLAYED = re.compile(r"^(?:\+ \d|#fresh$|#restart$|#times \d|[A-Z]?>-$|[A-Z]?= )|^[A-Z]?[<>](?s:.*)^#policy ", re.M)


class TranscriptTests(unittest.IsolatedAsyncioTestCase):
    async def test_each_transcript_goes_as_written(self) -> None:
        command()
        asyncio.get_running_loop().set_debug(False)
        files = sorted((PROTOCOL / "transcripts").glob("*.txt"))
        files = [file for file in files if not PLAYED.search(file.read_text(encoding="utf-8"))]
        self.assertGreater(len(files), 40)
        turns = asyncio.Semaphore(AT_A_TIME)
        outcomes = await asyncio.gather(*(self.play(file, turns) for file in files), return_exceptions=True)
        for file, outcome in zip(files, outcomes):
            with self.subTest(file.name):
                self.assertIsNone(outcome)

    async def play(self, file: Path, turns: asyncio.Semaphore) -> None:
        session = Session(file.name, file.read_text(encoding="utf-8"))
        async with turns:
            broker = await asyncio.to_thread(lambda: Broker(policy=session.policy))
            try:
                await session.play(broker.path)
            finally:
                await asyncio.to_thread(broker.remove)


class ComparisonTests(unittest.TestCase):
    """A comparison that accepts everything would prove nothing."""

    def test_it_sees_differences(self) -> None:
        same = [('{"a":1,…}', b'{"a":1,"b":2}'), ('{"a":"x…z"}', b'{"a":"xyz"}'), ('["…",…]', b"[{},1]")]
        other = [
            ('{"a":1}', b'{"a":2}'),
            ('{"a":1,…}', b'{"b":2,"a":1}'),
            ('{"a":"…"}', b'{"a":1,"b":2}'),
            ('{"a":"x…z"}', b'{"a":"xy"}'),
            ('["…"]', b"[1,2]"),
            ('{"a":1.0}', b'{"a":1.00}'),
        ]
        for expected, line in same:
            self.assertIsNone(mismatch(expected, line), expected)
        for expected, line in other:
            self.assertIsNotNone(mismatch(expected, line), expected)
