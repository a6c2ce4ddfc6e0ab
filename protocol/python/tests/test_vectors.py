"""Checks the tables of `protocol/vectors` with a real broker.

Lines go through the library's connection as they are. Values, keys, patterns, patches and conditions go
through the library's operations.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

from brokers import PROTOCOL, Broker, BrokerTestCase, Peer, soon

import plugboard
from plugboard import Raw, Refused
from sessions import generated, mismatch

BARRIER = b'{"op":"sync","id":"barrier"}\n'
PASSED = '{"ok":"sync","id":"barrier",'


def rows(name: str) -> List[Tuple[str, ...]]:
    """The rows of a table. Their first column is the place, for failures."""
    lines = (PROTOCOL / "vectors" / name).read_text(encoding="utf-8").split("\n")
    found = [
        (f"{name}:{number}", *line.split("\t"))
        for number, line in enumerate(lines, 1)
        if line and not line.startswith("#")
    ]
    assert found, name
    return found


def text(column: str) -> str:
    return generated(column).decode()


class LineTests(BrokerTestCase):
    async def asyncSetUp(self) -> None:
        asyncio.get_running_loop().set_debug(False)  # There are many lines, and it doubles the time.

    async def test_accepted_lines_get_their_replies(self) -> None:
        for row in rows("y_lines.tsv"):
            await self.check(*row[:3])

    async def test_refused_lines_get_their_errors_and_change_nothing(self) -> None:
        for row in rows("n_lines.tsv"):
            await self.check(*row[:3])
        bus = await self.bus()
        self.assertEqual(await bus.sync(), 0)

    async def test_typed_mistakes_get_their_errors(self) -> None:
        for row in rows("n_shorthand.tsv"):
            await self.check(*row[:3])

    async def check(self, place: str, line: str, expected: str) -> None:
        peer = await Peer.connect(self.broker.path)
        peer.send(generated(line) + b"\n" + BARRIER)
        await peer.line()
        with self.subTest(place):
            if expected != "-":
                self.assertIsNone(mismatch(expected, await peer.line() or b"null"))
            self.assertTrue((await peer.text()).startswith(PASSED))
        await peer.close()

    async def test_typed_words_get_the_answers_of_their_requests(self) -> None:
        other = Broker()
        self.addCleanup(other.remove)
        typed, requested = await Peer.connect(self.broker.path), await Peer.connect(other.path)
        await typed.line(), await requested.line()
        for place, words, request in rows("y_shorthand.tsv"):
            wanted, got = await self.answers(requested, request), await self.answers(typed, words)
            if '"id":1' in request:
                wanted = [answer.replace(',"id":1,', ",", 1) for answer in wanted]
            with self.subTest(place):
                self.assertEqual(got, wanted)
                self.assertTrue(got)
        await typed.close()
        await requested.close()

    async def answers(self, peer: Peer, line: str) -> List[str]:
        peer.send(generated(line) + b"\n" + BARRIER)
        answers: List[str] = []
        while not (answer := await peer.text()).startswith(PASSED):
            self.assertNotEqual(answer, "the end")
            answers.append(re.sub('"when":"[^"]*"', "", answer))
        return answers


class ValueTests(BrokerTestCase):
    async def test_values_come_back_byte_for_byte(self) -> None:
        bus = await self.bus()
        async with bus.subscribe("k", initial=False) as subscription:
            events = subscription.updates()
            for place, value in rows("y_values.tsv"):
                await bus.publish("k", Raw(text(value)))
                with self.subTest(place):
                    entry = await bus.entry("k")
                    self.assertEqual(entry.text, text(value))
                    self.assertEqual((await events.__anext__()).text, text(value))
                    self.assertEqual(entry.value, json.loads(text(value)))

    async def test_values_are_refused_before_they_are_sent_and_by_the_broker(self) -> None:
        bus = await self.bus()
        peer = await Peer.connect(self.broker.path)
        await peer.line()
        for place, code, value in rows("n_values.tsv"):
            with self.subTest(place):
                peer.send(b'{"op":"publish","id":1,"key":"k","value":' + generated(value) + b"}\n")
                self.assertEqual(json.loads(await peer.text())["error"], code)
                with self.assertRaises((Refused, plugboard.BadValue)) as caught:
                    await bus.publish("k", Raw(generated(value).decode("utf-8", "surrogateescape")))
                # The library looks for nothing deeper than JSON, and an error of its own is sent to nobody.
                self.assertIn(caught.exception.code, (code, "bad_json", "bad_value"))
        self.assertEqual(await bus.sync(), 0)
        await peer.close()

    async def test_keys(self) -> None:
        bus = await self.bus()
        for table, wanted in (("y_keys.tsv", "not_found"), ("n_keys.tsv", "bad_key")):
            for place, literal in rows(table):
                with self.subTest(place), self.assertRaises(Refused) as caught:
                    await bus.get(json.loads(text(literal), strict=False))
                self.assertEqual(caught.exception.code, wanted, place)

    async def test_patterns(self) -> None:
        bus = await self.bus()
        for place, literal in rows("y_patterns.tsv"):
            async with bus.subscribe(json.loads(text(literal), strict=False), initial=False):
                pass
        for place, literal in rows("n_patterns.tsv"):
            with self.subTest(place), self.assertRaises(Refused) as caught:
                await bus.subscribe(json.loads(text(literal), strict=False), initial=False)
            self.assertEqual(caught.exception.code, "bad_pattern", place)

    async def test_matches(self) -> None:
        bus = await self.bus()
        for place, pattern, key, wanted in rows("matches.tsv"):
            with self.subTest(place):
                self.assertEqual(plugboard.matches(pattern, key), wanted == "yes")
                if any(token.startswith("$") for token in key.split(".")):
                    continue  # Only the broker writes such keys.
                async with bus.subscribe(pattern, initial=False) as subscription:
                    await bus.emit(key, 0)
                    await bus.sync()
                    self.assertEqual(subscription._feed.begins_with(await bus.sync()), wanted == "yes")

    async def test_merge_patches(self) -> None:
        bus = await self.bus()
        for number, (place, value, patch, result) in enumerate(rows("merge_patches.tsv")):
            key = f"k.{number}"
            if value != "-":
                await bus.publish(key, Raw(text(value)))
            await bus.patch(key, Raw(text(patch)))
            with self.subTest(place):
                self.assertEqual((await bus.entry(key)).text, text(result))
                before = {} if value == "-" else json.loads(text(value))
                self.assertEqual(plugboard.merge(before, json.loads(text(patch))), json.loads(text(result)))

    async def test_part_patches(self) -> None:
        bus = await self.bus()
        for number, (place, value, patch, field, result) in enumerate(rows("part_patches.tsv")):
            key = f"k.{number}"
            if value != "-":
                await bus.publish(key, Raw(text(value)))
            with self.subTest(place):
                write = bus.patch(key, Raw(text(patch)), field=json.loads(text(field)))
                if result in ("conflict", "too_deep"):
                    with self.assertRaises(Refused) as caught:
                        await write
                    self.assertEqual(caught.exception.code, result)
                else:
                    await write
                    self.assertEqual((await bus.entry(key)).text, text(result))

    async def test_sums(self) -> None:
        bus = await self.bus(exact=True)
        for number, (place, value, addend, field, result) in enumerate(rows("sums.tsv")):
            key = f"k.{number}"
            if value != "-":
                await bus.publish(key, Raw(text(value)))
            pointer = None if field == "-" else json.loads(text(field))
            with self.subTest(place):
                if result in ("conflict", "limit"):
                    with self.assertRaises(Refused) as caught:
                        await bus.add(key, Raw(text(addend)), field=pointer)
                    self.assertEqual(caught.exception.code, result)
                else:
                    await bus.add(key, Raw(text(addend)), field=pointer)
                    self.assertEqual((await bus.entry(key)).text, text(result))


class PartTests(BrokerTestCase):
    """What the broker sends for a change is what the next event of a subscription shows."""

    async def asyncSetUp(self) -> None:
        asyncio.get_running_loop().set_debug(False)
        self.client = await self.bus()
        self.numbers: Iterator[int] = iter(range(1_000_000))

    async def told(self, old: Optional[str], new: str, **options: Any) -> Optional[plugboard.Event]:
        """The event for a change from one value to another; None if the broker sends nothing."""
        key = f"k.{next(self.numbers)}"
        if old is not None:
            await self.client.publish(key, Raw(old))
        async with self.client.subscribe(key, **options) as subscription:
            events = subscription.__aiter__()
            while (await soon(events.__anext__())).kind != "synced":
                pass
            revision = await self.client.publish(key, Raw(new))
            if not subscription._feed.begins_with(revision):
                return None
            return await soon(events.__anext__())

    async def test_pointers(self) -> None:
        for place, value, pointer, part in rows("pointers.tsv"):
            event = await self.told(None, text(value), fields=[json.loads(text(pointer))])
            with self.subTest(place):
                if part == "-":
                    self.assertIsNone(event)
                else:
                    assert event
                    members = '"fields":{' + text(pointer) + ":" + text(part) + "}"
                    if "\\u" not in pointer and "\\/" not in pointer:
                        self.assertIn(members, event.line.decode())
                    self.assertEqual(event.fields, {json.loads(text(pointer)): json.loads(text(part))})

    async def test_fields(self) -> None:
        for place, pointers, old, new, members in rows("fields.tsv"):
            before = None if old == "-" else text(old)
            event = await self.told(before, text(new), fields=json.loads(text(pointers)))
            with self.subTest(place):
                if members == "-":
                    self.assertIsNone(event)
                else:
                    assert event
                    self.assertIn("," + text(members)[1:-1] + ",", event.line.decode())

    async def test_conditions(self) -> None:
        for place, where, value, wanted in rows("conditions.tsv"):
            event = await self.told(None, text(value), where=Raw(text(where)))
            with self.subTest(place):
                self.assertEqual(event is not None and event.kind == "update", wanted == "yes")

    async def test_differences(self) -> None:
        for place, old, new, patch in rows("differences.tsv"):
            event = await self.told(text(old), text(new), diff=True)
            with self.subTest(place):
                assert event
                self.assertEqual(event.value, json.loads(text(new)))
                # The broker sends the value if it isn't longer than the patch.
                if patch == "-":
                    self.assertIsNone(event.patch)
                elif event.patch is not None:
                    self.assertIn('"patch":' + text(patch) + ",", event.line.decode())

    async def test_refused_parts_and_conditions(self) -> None:
        for table, option in (("n_fields.tsv", "fields"), ("n_conditions.tsv", "where")):
            for place, code, given in rows(table):
                with self.subTest(place), self.assertRaises(Refused) as caught:
                    options: Dict[str, Any] = {option: Raw(text(given))}
                    await self.client.subscribe("k", **options)
                self.assertEqual(caught.exception.code, code, place)
