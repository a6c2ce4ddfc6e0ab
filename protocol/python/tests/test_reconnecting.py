"""What happens when a connection breaks: to a real broker that is killed, and to one that says anything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
import tempfile
import unittest
from typing import Any, Dict, List
from unittest import mock

from brokers import SECONDS, BrokerTestCase, FakeBroker, eventually, heard, say, soon, until_goodbye

import plugboard
from plugboard import Call, Write


class Follower:
    """Follows a subscription, as a program that keeps a copy of the bus."""

    def __init__(self, subscription: plugboard.Subscription) -> None:
        self.events: List[plugboard.Event] = []
        self.values: Dict[str, Any] = {}
        self.task = asyncio.ensure_future(self._follow(subscription))

    async def _follow(self, subscription: plugboard.Subscription) -> None:
        async for event in subscription:
            self.events.append(event)
            if event.kind == "update":
                self.values[event.key] = event.value
            elif event.kind in ("delete", "leave"):
                self.values.pop(event.key, None)

    def kinds(self) -> List[str]:
        return [event.kind for event in self.events]

    async def until(self, kind: str, count: int = 1) -> plugboard.Event:
        await eventually(f"{count} times {kind}", lambda: self.kinds().count(kind) >= count)
        return [event for event in self.events if event.kind == kind][count - 1]


class HeldTests(BrokerTestCase):
    """An event is held when the connection breaks, though `sync` had told its revision. It comes afterwards."""

    async def held(self, key: str, **options: Any) -> None:
        bus, other = await self.bus(), await self.bus()
        # Nobody reads it, so it never acknowledges.
        silent = await other.subscribe("late", initial=False, phase=1, ack=True)
        follower = Follower(bus.subscribe("*", **options))
        self.addCleanup(follower.task.cancel)
        await bus.sync()
        for number in range(1, 5):
            await other.publish(f"k{number}", number)
        await other.publish("n", 5)
        await follower.until("update", 5)
        if key == "paused":
            await other.pause(1, client=bus.greeting.client)
        await other.publish(key, 6)
        self.assertEqual(await bus.sync(), 6)
        await other.disconnect(bus.greeting.client)
        await follower.until("update", 6)
        await other.publish("z", 7)
        await follower.until("update", 7)
        updates = [event for event in follower.events if event.kind == "update"]
        self.assertEqual([event.revision for event in updates], list(range(1, 8)))
        self.assertFalse(any(event.initial for event in updates))
        await silent.close()

    async def test_by_an_earlier_phase(self) -> None:
        await self.held("late")

    async def test_by_an_earlier_phase_without_initial(self) -> None:
        await self.held("late", initial=False)

    async def test_by_a_pause(self) -> None:
        await self.held("paused", initial=False)

    async def test_by_every(self) -> None:
        await self.held("n", initial=False, every=86400.0)


class KillTests(BrokerTestCase):
    journal = True

    async def asyncSetUp(self) -> None:
        self.client = await self.bus("till")

    async def follow(self, *patterns: str, **options: Any) -> Follower:
        follower = Follower(self.client.subscribe(*patterns, **options))
        self.addCleanup(follower.task.cancel)
        if options.get("initial", True):
            await follower.until("synced")
        else:
            await self.client.sync()
        return follower

    async def restart(self, *lines: Dict[str, Any]) -> None:
        """Kills the broker. Another client writes before this one is back."""
        self.broker.kill()
        await eventually("the connection breaks", lambda: not self.client.connected)
        if lines:
            with mock.patch.object(self.client, "_path", self.broker.path + "-nobody"):
                self.broker.start()
                async with plugboard.connect("other", self.broker.path) as other:
                    for members in lines:
                        await other._request(members.pop("op"), members, None)
                self.broker.kill()
        self.broker.start()
        await eventually("the bus is back", lambda: self.client.connected)

    async def test_a_subscription_gets_what_it_missed_and_nothing_twice(self) -> None:
        await self.client.batch([Write.publish("a", 1), Write.publish("b", 1), Write.publish("gone", 1)])
        follower = await self.follow("*")
        epoch = self.client.greeting.epoch
        brief = {"op": "publish", "key": "brief", "value": 1}, {"op": "delete", "key": "brief"}
        await self.restart({"op": "publish", "key": "b", "value": 2}, {"op": "delete", "key": "gone"}, *brief)
        await follower.until("synced", 2)
        await self.client.publish("c", 3)
        await follower.until("update", 5)
        self.assertEqual(
            [(event.kind, event.key) for event in follower.events[4:]],
            [
                ("disconnected", ""),
                ("reconnected", ""),
                ("update", "b"),
                ("delete", "gone"),
                ("synced", ""),
                ("update", "c"),
            ],
        )
        told = follower.events[5]
        self.assertEqual((told.resumed, told.epoch_changed, self.client.greeting.epoch), (True, False, epoch))
        self.assertEqual(follower.values, {"a": 1, "b": 2, "c": 3})
        revisions = [(event.revision, event.key) for event in follower.events if event.changes]
        self.assertEqual(len(revisions), len(set(revisions)))

    async def test_many_kills_lose_and_repeat_nothing(self) -> None:
        follower = await self.follow("n.*", delivery="all")
        done: Dict[str, int] = {}
        for number in range(60):
            key = f"n.{number % 7}"
            try:
                await self.client.publish(key, number)
            except plugboard.Disconnected:
                pass  # Nobody knows whether it was done. Then the next write of the key counts.
            done[key] = number
            if number % 20 == 13:
                self.broker.kill()
                self.broker.start()
        # A write that was under way may be lost, so each key is written once more.
        for key in done:
            await self.client.publish(key, done[key])
        expected = {key.key: await self.client.get(key.key) for key in await self.client.keys("n.*")}
        await eventually("everything has come", lambda: follower.values == expected and expected == done)
        writes = [(event.key, event.revision) for event in follower.events if event.kind == "update"]
        self.assertEqual(len(writes), len(set(writes)), "something came twice")
        self.assertEqual(follower.kinds().count("reconnected"), 3)
        by_revision = [event.revision for event in follower.events if event.changes]
        self.assertEqual(by_revision, sorted(by_revision))
        # Every revision is one write of `n.*`, and with `delivery="all"` each of them comes.
        self.assertEqual(by_revision, list(range(by_revision[0], by_revision[-1] + 1)))

    async def test_another_epoch_is_told_and_gone_keys_are_deleted(self) -> None:
        await self.client.batch([Write.publish("a", 1), Write.publish("gone", 1)])
        await self.client.publish("late", 1, cause=1)
        follower = await self.follow("*")
        self.broker.kill()
        self.broker.forget()
        self.broker.start()
        told = await follower.until("reconnected")
        await follower.until("synced", 2)
        self.assertEqual((told.resumed, told.epoch_changed), (False, True))
        self.assertEqual(follower.values, {})
        self.assertTrue(all(event.initial for event in follower.events if event.kind == "delete"))
        await self.client.publish("a", 2)
        await eventually("it is live", lambda: follower.values == {"a": 2})

    async def test_an_event_of_another_epoch_is_no_cause(self) -> None:
        await self.client.publish("cart", 1)
        async for event in self.client.subscribe("cart").updates():
            self.broker.kill()
            self.broker.forget()
            self.broker.start()
            await eventually(
                "the other epoch", lambda: self.client.connected and self.client.greeting.epoch != event.epoch
            )
            await self.client.publish("other", 1)
            break
        self.assertIsNone((await self.client.entry("other")).cause)

    async def test_differences_go_on_after_a_break(self) -> None:
        text = "a text that is much longer than the patch would be"
        await self.client.publish("cart", {"items": [1], "note": text})
        follower = await self.follow("cart", diff=True)
        await self.restart({"op": "patch", "key": "cart", "value": {"items": [2]}})
        await follower.until("synced", 2)
        await self.client.patch("cart", {"total": 3})
        last = await follower.until("update", 3)
        self.assertEqual((last.patch, last.value), ({"total": 3}, {"items": [2], "note": text, "total": 3}))

    async def test_a_value_that_no_longer_matches_leaves(self) -> None:
        await self.client.publish("phone", {"price": 90})
        follower = await self.follow("phone", where={"/price": {"<": 100}})
        await self.restart({"op": "publish", "key": "phone", "value": {"price": 120}})
        await follower.until("leave")
        self.assertEqual(follower.values, {})

    async def test_name_will_services_and_announced_values_are_there_again(self) -> None:
        @self.client.serve("twice")
        async def twice(call: Call) -> int:
            return 2 * int(call.value)

        await self.client.will(Write.publish("will", "lost"))
        announcement = await self.client.announce("tills.1", "open")
        await self.restart()
        await self.client.sync()
        self.assertEqual(await self.client.call("twice", 21), 42)
        entry = await self.client.entry("tills.1")
        self.assertEqual((entry.value, entry.by, entry.live), ("open", "till", True))
        await announcement.withdraw()
        async with plugboard.connect("observer", self.broker.path) as observer:
            await self.client.close()
            event = await soon(observer.subscribe("will").updates().__anext__())
            self.assertEqual((event.value, event.by), ("lost", "till"))
            self.assertEqual([key.key for key in await observer.keys()], ["will"])

    async def test_a_service_that_another_program_has_taken_is_told(self) -> None:
        other = await self.bus("other")
        await self.client.serve("k", lambda call: 1)
        lasting = asyncio.ensure_future(self.client.forever())
        with mock.patch.object(self.client, "_path", self.broker.path + "-nobody"):
            await other.disconnect(self.client.greeting.client)
            await other.serve("k", lambda call: 2)
            await eventually("the connection breaks", lambda: not self.client.connected)
        with self.assertLogs("plugboard", "ERROR") as logs:
            with self.assertRaises(plugboard.Conflict):
                await soon(lasting)
        self.assertIn("k isn't served", logs.output[0])
        self.assertTrue(self.client.connected)

    async def test_a_paused_subscription_stays_paused(self) -> None:
        async with self.client.subscribe("k", initial=False) as subscription:
            follower = Follower(subscription)
            await subscription.pause()
            await self.restart()
            await self.client.publish("k", 1)
            await self.client.sync()
            self.assertEqual(follower.kinds(), ["disconnected", "reconnected"])
            self.assertEqual(await subscription.resume(), 1)
            await follower.until("update")

    async def test_a_request_waits_for_the_next_connection(self) -> None:
        self.broker.kill()
        await eventually("the connection breaks", lambda: not self.client.connected)
        waiting = [
            asyncio.ensure_future(self.client.publish("k", 1)),
            asyncio.ensure_future(self.client.get("k")),
        ]
        events = self.client.subscribe("k").__aiter__()
        reading = asyncio.ensure_future(events.__anext__())
        with self.assertRaises(plugboard.TimedOut):
            await self.client.publish("late", 1, timeout=0.01)
        self.broker.start()
        self.assertEqual(await soon(asyncio.gather(*waiting)), [1, 1])
        self.assertEqual((await self.client.entry("k")).by, "till", "it was sent before the name")
        self.assertIn((await soon(reading)).kind, ("update", "synced"))
        self.assertEqual([key.key for key in await self.client.keys()], ["k"], "what timed out was sent")

    async def test_a_subscription_outlives_waits_that_end_before_it_begins(self) -> None:
        client = await self.bus(request_timeout=0.01)
        self.broker.kill()
        await eventually("the connection breaks", lambda: not client.connected)
        events = client.subscribe("k", initial=False)
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(events.__anext__(), 0.001)
        with self.assertRaises(plugboard.TimedOut):
            await events.__anext__()
        with self.assertRaises(plugboard.TimedOut):
            async for _ in events:
                pass
        self.assertEqual(list(client._feeds), [events.sub])
        # These would not be read by anybody.
        for work in (client.subscribe("k")._begin(), client.subscribe("k").__anext__()):
            with self.assertRaises(plugboard.TimedOut):
                await work
        await eventually("they end", lambda: list(client._feeds) == [events.sub])
        self.broker.start()
        await eventually("it begins", events._feed.started.done)
        await self.client.publish("k", 1)
        self.assertEqual((await soon(events.__anext__())).value, 1)

    async def test_a_request_under_way_fails_and_is_not_repeated(self) -> None:
        released = asyncio.Event()

        async def wait(call: Call) -> None:
            await released.wait()

        await self.client.serve("wait", wait)
        asking = asyncio.ensure_future(self.client.call("wait"))
        await eventually("it is asked", lambda: len(self.client._answering) == 1)
        self.broker.kill()
        with self.assertRaises(plugboard.Disconnected):
            await soon(asking)
        self.broker.start()
        await eventually("the bus is back", lambda: self.client.connected)
        await self.client.sync()
        self.assertEqual(len(self.client._answering), 1)
        # The answer comes too late: the new broker knows no such call.
        released.set()
        with mock.patch.object(plugboard._log, "warning") as warning:
            await eventually("it is answered", lambda: not self.client._answering)
            await self.client.sync()
        warning.assert_not_called()

    async def test_without_reconnecting_the_bus_ends_with_the_connection(self) -> None:
        other = await self.bus(reconnect=False)
        follower = Follower(other.subscribe("k"))
        lasting = asyncio.ensure_future(other.forever())
        await follower.until("synced")
        self.broker.kill()
        for work in (lasting, follower.task, other.get("k")):
            with self.assertRaises(plugboard.Disconnected):
                await soon(work)

    async def test_a_killed_client_is_noticed(self) -> None:
        other = await self.bus("kiosk")
        await other.publish("kiosk", "open", while_connected=True)
        follower = await self.follow("kiosk")
        assert other._wire
        other._wire.fail(plugboard.Disconnected("the test cuts it"))
        self.assertEqual((await follower.until("delete")).reason, "disconnected")

    async def test_a_broker_that_comes_later_is_waited_for(self) -> None:
        self.broker.kill()
        with self.assertRaises(plugboard.NoBroker):
            await plugboard.connect(path=self.broker.path)
        with mock.patch.multiple(plugboard, PAUSE_SECONDS_FIRST=3600, PAUSE_SECONDS_MAX=3600):
            with self.assertRaises(plugboard.NoBroker):
                await soon(plugboard.connect(path=self.broker.path, wait=0.05)._open())
        opening = asyncio.ensure_future(plugboard.connect(path=self.broker.path, wait=SECONDS)._open())
        await asyncio.sleep(0)
        self.broker.start()
        await (await soon(opening)).goodbye()

    async def test_a_bad_name_is_refused_at_once(self) -> None:
        with self.assertRaises(plugboard.Refused) as caught:
            await plugboard.connect("$name", self.broker.path)
        self.assertEqual(caught.exception.code, "wrong_type")

    async def test_a_broker_that_stops_says_so(self) -> None:
        follower = await self.follow("k")
        assert self.broker.process
        asking = asyncio.ensure_future(self.client.forever())
        with self.assertLogs("plugboard", "INFO") as logs:
            self.broker.process.terminate()
            await follower.until("disconnected")
        self.assertIn("bye, stopping", logs.output[0])
        asking.cancel()


class FakeTests(unittest.IsolatedAsyncioTestCase):
    """Whatever answers, nobody waits for ever and everybody learns why."""

    async def opened(self, talk: Any, **options: Any) -> plugboard.BusError:
        """The error of opening a bus with somebody who talks like that."""
        async with FakeBroker(talk) as fake:
            with self.assertRaises(plugboard.BusError) as caught:
                await soon(plugboard.connect(path=fake.path, **options)._open())
        return caught.exception

    async def test_who_does_not_greet_is_no_broker(self) -> None:
        greeting = FakeBroker.GREETING
        lines: List[Any] = [
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            b"\xff\xfe\n",
            b"[" * 100_000 + b"\n",
            b"\n",
            {"ok": "hello"},
            {"event": "update", "sub": 1},
            {**greeting, "protocol": 2},
            {**greeting, "epoch": 7},
            {**greeting, "revision": "0"},
            {**greeting, "features": "since"},
        ]
        for line in lines:

            async def talk(reader: Any, writer: Any, line: Any = line) -> None:
                say(writer, line)
                await until_goodbye(reader)

            with self.subTest(str(line)[:40]):
                self.assertEqual((await self.opened(talk)).code, "not_a_broker")

    async def test_who_says_nothing_is_no_broker(self) -> None:
        async def silent(reader: Any, writer: Any) -> None:
            await until_goodbye(reader)

        self.assertEqual((await self.opened(silent, connect_timeout=0.05)).code, "not_a_broker")

    async def test_half_a_greeting_is_a_broken_connection(self) -> None:
        async def half(reader: Any, writer: Any) -> None:
            writer.write(b'{"event":"hello","broker":"plugb')

        self.assertEqual((await self.opened(half)).code, "disconnected")

    async def test_a_bye_instead_of_a_greeting_gives_its_reason(self) -> None:
        async def full(reader: Any, writer: Any) -> None:
            say(writer, {"event": "bye", "reason": "clients", "message": "too many"})

        error = await self.opened(full)
        self.assertEqual((error.code, "clients" in error.message), ("disconnected", True))

    async def test_a_line_without_end_is_not_kept(self) -> None:
        async def endless(reader: Any, writer: Any) -> None:
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()

        with mock.patch.object(plugboard, "READ_LINE_BYTES_MAX", 1 << 20):
            error = await self.opened(endless)
        self.assertEqual(
            (error.code, "a line of more than 1048576 bytes" in error.message), ("not_a_broker", True)
        )

    async def test_nonsense_breaks_the_connection_and_the_next_one_works(self) -> None:
        nonsense: List[Any] = [
            b"nonsense\n",
            b"{}\n",
            b"[1]\n",
            b'{"event":"update","sub":2,"key":"k","revision":NaN}\n',
            b'{"ok":"sync","id":2,"revision":1\n',
            b"\xff\n",
            b"[" * 100_000 + b"\n",
            {"event": "update", "sub": 1, "key": "k", "revision": "1", "value": 1},
            {"event": "update", "sub": 1, "key": 7, "revision": 1, "value": 1},
            {"event": "lagged", "sub": 1},
            {"event": "update", "sub": 1, "key": "k", "revision": 1, "patch": {"a": 1}},
            {"event": "call", "key": "k"},
            {"error": 7, "id": 1},
            b'{"event":"update","sub":1,"key":"k","rev',
        ]
        for line in nonsense:

            async def first(reader: Any, writer: Any, line: Any = line) -> None:
                say(writer, FakeBroker.GREETING)
                asked = await heard(reader)
                say(writer, {"ok": "subscribe", "id": asked["id"], "sub": asked["sub"], "revision": 0}, line)

            async def second(reader: Any, writer: Any) -> None:
                say(writer, FakeBroker.GREETING)
                asked = await heard(reader)
                say(writer, {"ok": "subscribe", "id": asked["id"], "sub": asked["sub"], "revision": 0})
                say(writer, {"event": "synced", "sub": asked["sub"], "revision": 0})
                await until_goodbye(reader)

            with self.subTest(str(line)[:60]):
                async with FakeBroker(first, second) as fake, plugboard.connect(path=fake.path) as bus:
                    async for event in bus.subscribe("k"):
                        if event.kind == "synced":
                            break
                    self.assertEqual(fake.connections, 2)

    async def test_parts_that_went_meanwhile_are_gone_also_if_the_key_is_written_meanwhile(self) -> None:
        def talk(*parts: Any, is_last: bool = False) -> Any:
            async def say_all(reader: Any, writer: Any) -> None:
                say(writer, FakeBroker.GREETING)
                asked = await heard(reader)
                say(writer, {"ok": "subscribe", "id": asked["id"], "sub": asked["sub"], "revision": 0})
                for fields in parts:
                    update = {"event": "update", "sub": asked["sub"], "key": "k", "revision": 1}
                    say(writer, {**update, "fields": fields})
                say(writer, {"event": "synced", "sub": asked["sub"], "revision": 1})
                if is_last:
                    await until_goodbye(reader)

            return say_all

        first, second = talk({"/a": 1, "/n": 2}), talk({"/a": 3}, {"/a": 4}, is_last=True)
        gone: List[Any] = []
        async with FakeBroker(first, second) as fake, plugboard.connect(path=fake.path) as bus:
            async for event in bus.subscribe("k", fields=["/a", "/n"]):
                if event.kind == "update":
                    gone.append(event.gone)
                if event.kind == "synced" and len(gone) == 3:
                    break
        self.assertEqual(gone, [(), ("/n",), ()])

    async def test_whatever_a_line_has_it_is_read_or_refused(self) -> None:
        """Random lines, always the same, out of the names and values of real ones."""
        chance = random.Random(61)
        names = [
            "sub",
            "key",
            "revision",
            "value",
            "old",
            "by",
            "cause",
            "reason",
            "initial",
            "live",
            "skipped",
        ]
        names += [
            "unacked",
            "fields",
            "gone",
            "patch",
            "dropped",
            "first",
            "last",
            "op",
            "observers",
            "id",
            "call",
        ]
        kinds: List[Any] = [*sorted(plugboard._KINDS), "call", "bye", "moon", 7, None, [], {}]
        heads = [("event", kind) for kind in kinds]
        heads += [("ok", "subscribe"), ("ok", 7), ("error", "conflict"), ("error", []), ("moon", 1)]
        values: List[Any] = [
            None,
            True,
            0,
            1,
            -1,
            10**30,
            1.5,
            "",
            "k",
            "\u200b",
            [],
            ["k"],
            [{}],
            {},
            {"k": None},
        ]

        async def talk(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            for number in (1, 2):
                asked = await heard(reader)
                say(writer, {"ok": "subscribe", "id": asked["id"], "sub": asked["sub"], "revision": number})
            await until_goodbye(reader)

        async with FakeBroker(talk) as fake, plugboard.connect(path=fake.path) as bus:
            subs = [await bus.subscribe("k", diff=True), await bus.trace("k")]
            outcomes = {"read": 0, "refused": 0}
            with mock.patch.object(plugboard._log, "warning"):
                for _ in range(3_000):
                    members = dict([chance.choice(heads)])
                    members["sub"] = chance.choice(subs).sub
                    members.update(
                        {name: chance.choice(values) for name in chance.sample(names, chance.randrange(6))}
                    )
                    try:
                        bus._take(members, json.dumps(members).encode())
                        outcomes["read"] += 1
                    except plugboard.BusError:
                        outcomes["refused"] += 1
            self.assertGreater(min(outcomes.values()), 500)
            self.assertTrue(bus.connected)

    async def test_lines_that_nobody_knows_are_ignored(self) -> None:
        async def talk(reader: Any, writer: Any) -> None:
            say(writer, {**FakeBroker.GREETING, "mood": "good"})
            asked = await heard(reader)
            say(
                writer,
                {"event": "moon", "phase": 1},
                {"ok": "sync", "id": 4711},
                {"ok": "publish", "revision": 1},
            )
            say(
                writer,
                {"event": "update", "sub": 4711, "key": "k"},
                {"error": "new_code", "id": "x"},
                {"moon": 1},
            )
            say(writer, {"ok": "sync", "id": asked["id"], "revision": 5, "mood": "good"})
            await until_goodbye(reader)

        async with FakeBroker(talk) as fake, plugboard.connect(path=fake.path) as bus:
            self.assertEqual(await bus.sync(), 5)
            self.assertTrue(bus.connected)

    async def test_a_reply_without_its_members_is_an_error(self) -> None:
        async def talk(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            while not reader.at_eof():
                line = await reader.readline()
                if line:
                    asked = json.loads(line)
                    say(
                        writer,
                        {"ok": asked["op"], "id": asked["id"], "observers": 7, "keys": [1], "chain": {}},
                    )

        async with FakeBroker(talk) as fake:
            bus = await plugboard.connect(path=fake.path)
            works: List[Any] = [
                bus.publish("k", 1), bus.get("k"), bus.keys(), bus.who("k"), bus.why("k"), bus.sync(), bus.call("k"),
                bus.explain(Write.delete("k")), bus.pause(1), bus.ack(1, 1),
            ]  # fmt: skip
            for work in works:
                with self.assertRaises(plugboard.BadReply):
                    await soon(work)
            await bus.close()

    async def test_pages_that_do_not_go_on_end(self) -> None:
        async def talk(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            while True:
                asked = await heard(reader)
                page = [{"key": "k", "revision": 1, "live": True}]
                say(writer, {"ok": "keys", "id": asked["id"], "keys": page, "more": True})

        async with FakeBroker(talk) as fake:
            bus = await plugboard.connect(path=fake.path)
            with self.assertRaises(plugboard.BadReply):
                await soon(bus.keys())
            await bus.close()

    async def test_a_broker_that_does_not_answer_is_given_up(self) -> None:
        async def mute(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            await until_goodbye(reader)

        self.assertEqual((await self.opened(mute, name="n", connect_timeout=0.5)).code, "disconnected")
        async with FakeBroker(mute) as fake:
            bus = await plugboard.connect(path=fake.path, request_timeout=0.05, connect_timeout=0.1)
            for work in (bus.get("k"), bus.subscribe("k")._begin(), bus.serve("k", lambda call: 1)._begin()):
                with self.assertRaises((plugboard.TimedOut, plugboard.Disconnected)):
                    await soon(work)
            await soon(bus.goodbye())

    async def test_a_broker_is_given_up_when_it_is_silent_and_not_while_it_sends(self) -> None:
        """Answers keep their place, so the values of an earlier subscription may come before them for long."""

        async def talk(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            asked.append(await heard(reader))
            say(writer, {"ok": "subscribe", "id": asked[0]["id"], "sub": asked[0]["sub"], "revision": 9})
            for _ in range(3):
                asked.append(await heard(reader))
            writers.append(writer)
            await until_goodbye(reader)

        asked: List[Any] = []
        writers: List[Any] = []
        loop, passed = asyncio.get_running_loop(), 0.0
        clock = loop.time

        def later(part: float) -> None:
            nonlocal passed
            passed += part * SECONDS

        options: Dict[str, Any] = {"connect_timeout": SECONDS, "request_timeout": SECONDS}
        async with FakeBroker(talk) as fake, plugboard.connect(path=fake.path, **options) as bus:
            with mock.patch.object(loop, "time", lambda: clock() + passed):
                large = await bus.subscribe("**")
                follower = Follower(large)
                small = asyncio.ensure_future(bus.subscribe("k")._begin())
                serving = asyncio.ensure_future(bus.serve("served", lambda call: 1)._begin())
                getting = asyncio.ensure_future(bus.get("k"))
                await eventually("all is asked", lambda: len(asked) == 4)
                for number in range(4):
                    later(0.6)
                    update = {"event": "update", "sub": large.sub, "key": "k", "revision": number, "value": 1}
                    say(writers[0], update)
                    await eventually("an event", lambda: len(follower.events) > number)
                    self.assertEqual(follower.kinds()[-1], "update")
                # A request has the time that it was given.
                with self.assertRaises(plugboard.TimedOut):
                    await getting
                self.assertEqual((small.done(), serving.done(), fake.connections), (False, False, 1))
                for request in asked[1:3]:
                    say(writers[0], {"ok": request["op"], **request, "revision": 9})
                await asyncio.gather(small, serving)
                # The broker doesn't answer any more, and is silent.
                bus._ack_quietly(large.sub, 9)
                waiting = asyncio.ensure_future(bus.subscribe("k")._begin())
                await asyncio.sleep(0)
                later(1.1)
                with self.assertRaises(plugboard.TimedOut):
                    await waiting
                await follower.until("disconnected")
            follower.task.cancel()

    async def test_every_half_of_a_line_is_read(self) -> None:
        async def slow(reader: Any, writer: Any) -> None:
            for byte in json.dumps(FakeBroker.GREETING).encode() + b"\r\n":
                writer.write(bytes([byte]))
                await writer.drain()
            asked = await heard(reader)
            for byte in (
                json.dumps(
                    {"ok": "get", "id": asked["id"], "key": "k", "revision": 1, "value": "é", "by": "x"},
                    ensure_ascii=False,
                ).encode()
                + b"\n"
            ):
                writer.write(bytes([byte]))
                await writer.drain()
            await until_goodbye(reader)

        async with FakeBroker(slow) as fake, plugboard.connect(path=fake.path) as bus:
            self.assertEqual(await soon(bus.get("k")), "é")

    async def test_a_goodbye_is_no_broken_connection(self) -> None:
        async def talk(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            asked = await heard(reader)
            say(writer, {"ok": "subscribe", "id": asked["id"], "sub": asked["sub"], "revision": 1})
            say(writer, {"event": "synced", "sub": asked["sub"], "revision": 1})
            await until_goodbye(reader)  # It closes without an answer.

        async with FakeBroker(talk) as fake, plugboard.connect(path=fake.path) as bus:
            follower = Follower(bus.subscribe("k"))
            await follower.until("synced")
            await soon(bus.goodbye())
            await soon(follower.task)
            self.assertEqual((follower.kinds(), fake.connections), (["synced"], 1))

    async def test_calls_that_the_broker_sent_before_it_read_unserve_are_answered(self) -> None:
        returned: List[Any] = []

        async def talk(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            asked = await heard(reader)
            say(writer, {"ok": "serve", "id": asked["id"], "key": "k", "spare": True})
            asked = await heard(reader)
            say(writer, {"event": "serving", "key": "k"}, {"event": "call", "call": "before", "key": "k"})
            say(writer, {"ok": "unserve", "id": asked["id"], "key": "k"})
            say(writer, {"event": "call", "call": "after", "key": "k"})
            while (asked := await heard(reader))["op"] != "goodbye":
                if asked["op"] == "return":
                    returned.append((asked["call"], asked.get("value"), asked.get("error", {}).get("code")))
                else:
                    say(writer, {"ok": asked["op"], "id": asked["id"], "revision": 1})

        def work(path: str, serves: Any) -> None:
            with plugboard.open(path=path) as bus:
                bus.serve("k", spare=True, serves=serves)(lambda call: 1)
                bus.unserve("k")
                while len(returned) < 2:
                    bus.sync()

        for is_blocking in (False, True):
            serves = mock.Mock()
            async with FakeBroker(talk) as fake:
                if is_blocking:
                    await soon(asyncio.to_thread(work, fake.path, serves))
                else:
                    async with plugboard.connect(path=fake.path) as bus:
                        serving = await bus.serve("k", lambda call: 1, spare=True, serves=serves)
                        await soon(serving.close())
                        await eventually("both are answered", lambda: len(returned) == 2)
            self.assertEqual(sorted(returned), [("after", None, "no_provider"), ("before", 1, None)])
            self.assertEqual(serves.call_count, 0, "the program had ended it")
            returned.clear()

    async def test_half_a_batch_is_asked_for_again_and_comes_once(self) -> None:
        """The events of a batch share a revision, and the connection may break between them."""
        asked: List[Any] = []

        def update(key: str, revision: int, **members: Any) -> Dict[str, Any]:
            sub = asked[0]["sub"]
            return {
                "event": "update",
                "sub": sub,
                "key": key,
                "revision": revision,
                "value": 1,
                "by": "x",
                **members,
            }

        async def first(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            asked.append(await heard(reader))
            say(writer, {"ok": "subscribe", "id": asked[0]["id"], "sub": asked[0]["sub"], "revision": 3})
            say(writer, {"event": "synced", "sub": asked[0]["sub"], "revision": 3}, update("a", 7))

        async def second(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            asked.append(await heard(reader))
            say(
                writer,
                {
                    "ok": "subscribe",
                    "id": asked[1]["id"],
                    "sub": asked[1]["sub"],
                    "revision": 9,
                    "resumed": True,
                },
            )
            say(writer, update("a", 7), update("b", 7, skipped=2), update("a", 9, skipped=1))
            await until_goodbye(reader)

        async with FakeBroker(first, second) as fake, plugboard.connect(path=fake.path) as bus:
            follower = Follower(bus.subscribe("*"))
            await follower.until("update", 3)
        updates = [
            (event.key, event.revision, event.skipped) for event in follower.events if event.kind == "update"
        ]
        self.assertEqual(updates, [("a", 7, 0), ("b", 7, 2), ("a", 9, 0)])
        self.assertEqual((asked[1]["since"], asked[1]["epoch"]), (6, FakeBroker.GREETING["epoch"]))

    async def test_a_later_connection_that_is_refused_ends_the_subscription(self) -> None:
        async def first(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            asked = await heard(reader)
            say(writer, {"ok": "subscribe", "id": asked["id"], "sub": asked["sub"], "revision": 0})

        async def second(reader: Any, writer: Any) -> None:
            say(writer, FakeBroker.GREETING)
            asked = await heard(reader)
            say(writer, {"error": "forbidden", "id": asked["id"], "message": "not any more"})
            await until_goodbye(reader)

        async with FakeBroker(first, second) as fake, plugboard.connect(path=fake.path) as bus:
            with self.assertRaises(plugboard.Refused) as caught:
                async for _ in bus.subscribe("k"):
                    pass
            self.assertEqual(caught.exception.code, "forbidden")


class TrustTests(unittest.IsolatedAsyncioTestCase):
    async def talk(self, reader: Any, writer: Any) -> None:
        say(writer, FakeBroker.GREETING)
        self.assertIn(await until_goodbye(reader), (b"", b"goodbye"))

    async def test_nothing_is_sent_to_another_users_broker(self) -> None:
        async with FakeBroker(self.talk) as fake:
            with mock.patch.object(plugboard, "_peer_user", return_value=4711):
                with self.assertRaises(plugboard.Untrusted):
                    await plugboard.connect("me", fake.path)
                async with plugboard.connect(path=fake.path, peer="4711"):
                    pass
                with mock.patch.dict(os.environ, {"PLUGBOARD_PEER": "4711"}):
                    async with plugboard.connect(path=fake.path):
                        pass
            with self.assertRaises(plugboard.Untrusted):
                await plugboard.connect("me", fake.path, peer="no such user")

    async def test_the_kernel_says_who_listens(self) -> None:
        async with FakeBroker(self.talk) as fake:
            _, writer = await asyncio.open_unix_connection(fake.path)
            self.assertEqual(plugboard._peer_user(writer.get_extra_info("socket")), os.getuid())
            writer.close()
            await writer.wait_closed()

    async def test_a_folder_that_others_may_write_to_is_refused_at_the_default_place(self) -> None:
        async with FakeBroker(self.talk) as fake:
            with mock.patch.object(plugboard, "_own_path", return_value=fake.path):
                os.chmod(fake.folder, 0o770)
                with self.assertRaises(plugboard.Untrusted):
                    await plugboard.connect(path=fake.path)
                os.chmod(fake.folder, 0o700)
                async with plugboard.connect(path=fake.path):
                    pass

    async def test_a_path_that_can_be_no_socket_is_an_error(self) -> None:
        for path in ("/" + "x" * 200, "a\0b", "/", "/nowhere/at/all"):
            with self.subTest(path), self.assertRaises(plugboard.NoBroker):
                await plugboard.connect(path=path)

    async def test_a_time_limit_holds_where_too_many_clients_wait_to_be_accepted(self) -> None:
        with tempfile.TemporaryDirectory(prefix="pb") as folder:
            path = os.path.join(folder, "s")
            with contextlib.ExitStack() as stack:
                listener = stack.enter_context(socket.socket(socket.AF_UNIX))
                listener.bind(path)
                listener.listen(0)
                with self.assertRaises(BlockingIOError):
                    while True:
                        client = stack.enter_context(socket.socket(socket.AF_UNIX))
                        client.setblocking(False)
                        client.connect(path)
                with self.assertRaisesRegex(plugboard.NoBroker, "too many clients wait"):
                    await plugboard.connect(path=path, connect_timeout=0.1)
                # A time to wait for a broker holds as well.
                with self.assertRaisesRegex(plugboard.NoBroker, "too many clients wait"):
                    await plugboard.connect(path=path, connect_timeout=0.1, wait=0.2)

    async def test_who_waits_to_be_accepted_is_let_in(self) -> None:
        with tempfile.TemporaryDirectory(prefix="pb") as folder:
            path = os.path.join(folder, "s")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen(0)
            listener.setblocking(False)
            first = socket.socket(socket.AF_UNIX)
            first.connect(path)
            connecting = asyncio.ensure_future(plugboard.connect(path=path, connect_timeout=SECONDS)._open())
            await asyncio.sleep(0.1)
            self.assertFalse(connecting.done())
            loop = asyncio.get_running_loop()
            accepted = [(await loop.sock_accept(listener))[0] for _ in range(2)]
            await loop.sock_sendall(accepted[1], json.dumps(FakeBroker.GREETING).encode() + b"\n")
            bus = await connecting
            bus._close(None)
            for one in (listener, first, *accepted):
                one.close()

    async def test_a_closed_folder_is_named_with_its_owner(self) -> None:
        async def refuse(*_: Any) -> None:
            raise PermissionError(13, "Permission denied")

        with tempfile.TemporaryDirectory(prefix="pb") as folder:
            owner = plugboard._user_name(os.getuid())
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(os.path.join(folder, "s"))
            for closed, message in (
                (folder, f"the folder {folder} belongs to {owner}, and this user may not enter it"),
                (f"{folder}/s", f"the socket {folder}/s belongs to {owner}, and this user may not connect"),
            ):
                with mock.patch.object(plugboard, "_connect", refuse):
                    with mock.patch.object(os, "access", lambda path, mode: path != closed):
                        with self.assertRaisesRegex(plugboard.NoBroker, message):
                            await plugboard.connect(path=f"{folder}/s")
            listener.close()
