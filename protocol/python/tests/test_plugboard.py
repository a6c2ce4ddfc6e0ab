"""The library with a real broker: each operation, causes, calls, limits, cancellation, the blocking twin."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any, Dict, List
from unittest import mock

from brokers import PROTOCOL, SECONDS, BrokerTestCase, FakeBroker, Peer, eventually, say, soon

import plugboard
from plugboard import Call, Event, Raw, Write


async def until_synced(events: Any) -> List[Event]:
    """The events up to `synced`."""
    seen: List[Event] = []
    while not seen or seen[-1].kind != "synced":
        seen.append(await soon(events.__anext__()))
    return seen


class OperationTests(BrokerTestCase):
    async def asyncSetUp(self) -> None:
        self.till = await self.bus("till")

    async def test_a_value_is_published_read_patched_and_deleted(self) -> None:
        self.assertEqual(await self.till.publish("cart", {"items": 1, "note": "gift"}), 1)
        self.assertEqual(await self.till.get("cart"), {"items": 1, "note": "gift"})
        self.assertEqual(await self.till.patch("cart", {"note": None, "total": 2}), 2)
        entry = await self.till.entry("cart")
        self.assertEqual(
            (entry.value, entry.revision, entry.by, entry.live), ({"items": 1, "total": 2}, 2, "till", True)
        )
        self.assertEqual(await self.till.delete("cart"), 3)
        with self.assertRaises(plugboard.NotFound) as caught:
            await self.till.get("cart")
        self.assertEqual(
            (caught.exception.code, caught.exception.hint), ("not_found", "keys lists what there is")
        )

    async def test_numbers_are_added_and_the_sum_is_returned(self) -> None:
        self.assertEqual(await self.till.add("visits", 1), 1)
        self.assertEqual(await asyncio.gather(*(self.till.add("visits", 2) for _ in range(3))), [3, 5, 7])
        self.assertEqual(await self.till.add("cart", 19.95, field="/total", cause=7, ttl=60), 19.95)
        entry = await self.till.entry("cart")
        self.assertEqual((entry.value, entry.cause), ({"total": 19.95}, 7))
        await self.till.batch([Write.add("visits", -7), Write.add("cart", 1, field="/items")])
        self.assertEqual(await self.till.get("visits"), 0)
        self.assertEqual(await self.till.get("cart"), {"total": 19.95, "items": 1})
        with self.assertRaises(plugboard.Conflict):
            await self.till.add("cart", 1)
        with self.assertRaises(plugboard.Refused) as caught:
            await self.till.add("visits", "1")
        self.assertEqual(caught.exception.code, "wrong_type")
        exact = await self.bus("exact", exact=True)
        self.assertEqual(str(await exact.add("sum", Decimal("0.10"))), "0.10")
        self.assertEqual(str(await exact.add("sum", Decimal("0.20"))), "0.30")

    async def test_what_ends_a_value_is_told(self) -> None:
        await self.till.publish("hint", 1, ttl=3600, while_connected=True)
        await self.till.publish("stays", 1)
        entry, stays = await self.till.entry("hint"), await self.till.entry("stays")
        self.assertTrue(entry.while_connected and entry.ttl and 3500 < entry.ttl <= 3600)
        self.assertEqual((stays.while_connected, stays.ttl), (False, None))
        listed = await self.till.keys()
        self.assertEqual([key.while_connected for key in listed], [True, False])
        event = (await until_synced(self.till.subscribe("hint").__aiter__()))[0]
        self.assertTrue(event.while_connected and event.ttl and 3500 < event.ttl <= 3600)

    async def test_another_client_is_disconnected(self) -> None:
        other = await Peer.connect(self.broker.path)
        other.send(b'{"op":"publish","id":1,"key":"here","value":1,"while":"connected"}\n')
        while (await self.till.keys()) == []:
            pass
        client = (await self.till.who("here")).writer
        assert client and client.client
        self.assertEqual(await self.till.disconnect(client.client), 2)
        self.assertEqual(await self.till.keys(), [])
        with self.assertRaises(plugboard.NotFound):
            await self.till.disconnect(client.client)

    async def test_calls_are_traced(self) -> None:
        async with self.till.trace("cart.**") as trace:
            await self.till.serve("cart.add", lambda call: call.value)
            other = await self.bus("other")
            self.assertEqual(await other.call("cart.add", 5), 5)
            with self.assertRaises(plugboard.Refused):
                await other.call("cart.none")
            events = trace.__aiter__()
            told = [await soon(events.__anext__()) for _ in range(3)]
        self.assertEqual([event.outcome for event in told], ["asked", "answered", "failed"])
        self.assertEqual((told[1].op, told[1].call, told[1].by), ("call", "1", "other"))
        self.assertEqual(told[1].server and told[1].server[1], "till")
        self.assertIsNotNone(told[1].microseconds)
        self.assertEqual((told[2].code, told[2].server, told[2].call), ("no_provider", None, None))

    async def test_null_is_a_value(self) -> None:
        await self.till.publish("k", None)
        self.assertIsNone(await self.till.get("k"))
        event = (await until_synced(self.till.subscribe("k").__aiter__()))[0]
        self.assertEqual((event.value, event.has_value), (None, True))

    async def test_a_write_is_refused_if_the_revision_is_another(self) -> None:
        await self.till.publish("seat", "ada", if_revision=0)
        with self.assertRaises(plugboard.Conflict) as caught:
            await self.till.publish("seat", "bob", if_revision=0)
        self.assertEqual(caught.exception.revision, 1)
        await self.till.publish("seat", "bob", if_revision=1)

    async def test_a_batch_is_one_revision_or_nothing(self) -> None:
        revision = await self.till.batch([Write.publish("a", 1), Write.publish("b", 2), Write.emit("c", 3)])
        self.assertEqual(
            [(key.key, key.revision) for key in await self.till.keys()], [("a", revision), ("b", revision)]
        )
        with self.assertRaises(plugboard.NotFound) as caught:
            await self.till.batch([Write.publish("a", 2), Write.delete("nowhere")])
        self.assertEqual(caught.exception.write, 1)
        self.assertEqual(await self.till.get("a"), 1)

    async def test_keys_come_page_after_page(self) -> None:
        await self.till.batch([Write.publish(f"k.{number:02}", number) for number in range(25)])
        self.till.greeting.limits["page"] = 10
        self.assertEqual(
            [key.key for key in await self.till.keys("k.*")], [f"k.{number:02}" for number in range(25)]
        )
        self.assertEqual([key.key for key in await self.till.keys(after="k.22")], ["k.23", "k.24"])
        self.assertEqual(len(await self.till.keys(limit=13)), 13)

    async def test_a_subscription_shows_the_present_and_every_change(self) -> None:
        await self.till.publish("cart.a", 1)
        async with self.till.subscribe("cart.**", old=True) as subscription:
            events = subscription.__aiter__()
            first, synced = await until_synced(events)
            self.assertEqual(
                (first.kind, first.key, first.value, first.initial, first.live),
                ("update", "cart.a", 1, True, True),
            )
            self.assertEqual(synced.revision, 1)
            await self.till.publish("cart.a", 2)
            await self.till.emit("cart.bell", "ding")
            await self.till.delete("cart.a")
            update, emit, delete = [await soon(events.__anext__()) for _ in range(3)]
        self.assertEqual(
            (update.kind, update.value, update.old, update.by, update.has_old), ("update", 2, 1, "till", True)
        )
        self.assertEqual((emit.kind, emit.value, emit.revision), ("emit", "ding", 2))
        self.assertEqual((delete.kind, delete.old, delete.has_value), ("delete", 2, False))

    async def test_options_of_a_subscription(self) -> None:
        phones = self.till.subscribe("phone", where={"/price": {"<": 100}}).__aiter__()
        parts = self.till.subscribe("phone", fields=["/price"]).__aiter__()
        differences = self.till.subscribe("phone", diff=True).__aiter__()
        keys = self.till.subscribe(
            "phone", values=False, when=True, initial=False, delivery="all"
        ).__aiter__()
        await asyncio.gather(*(until_synced(events) for events in (phones, parts, differences)))
        asking = asyncio.ensure_future(keys.__anext__())
        await self.till.sync()
        await self.till.publish("phone", {"name": "3310", "price": 90, "text": "a text that is long enough"})
        await self.till.patch("phone", {"price": 120})
        self.assertEqual([(await soon(phones.__anext__())).kind for _ in range(2)], ["update", "leave"])
        self.assertEqual(
            [(await soon(parts.__anext__())).fields for _ in range(2)], [{"/price": 90}, {"/price": 120}]
        )
        _, changed = [await soon(differences.__anext__()) for _ in range(2)]
        self.assertEqual((changed.patch, changed.value["name"]), ({"price": 120}, "3310"))
        self.assertFalse((await soon(asking)).has_value)
        changed = await soon(keys.__anext__())
        self.assertRegex(changed.when or "", r"^20.*:\d\dZ$")
        self.assertEqual((await self.till.entry("phone")).when, changed.when)

    async def test_with_differences_a_program_may_change_what_it_got(self) -> None:
        value: Dict[str, Any] = {"items": [1, {"n": 2}], "note": {"text": "a text that is long enough"}}
        await self.till.publish("cart", value)
        updates = await self.till.subscribe("cart", diff=True).updates()
        for total in range(3):
            event = await soon(updates.__anext__())
            self.assertEqual((event.value, event.patch is None), (value, total == 0))
            event.value["items"][1]["n"] = "mine"
            event.value["items"].append("mine")
            event.value["note"]["text"] = event.value["mine"] = "mine"
            await self.till.patch("cart", {"total": total, "tags": ["new"]})
            value.update(total=total, tags=["new"])

    async def test_every_folds_and_counts(self) -> None:
        events = self.till.subscribe("price", every=0.2).__aiter__()
        await until_synced(events)
        for price in range(4):
            await self.till.publish("price", price)
        first, last = [await soon(events.__anext__()) for _ in range(2)]
        self.assertEqual((first.value, last.value, last.skipped), (0, 3, 2))

    async def test_pause_step_and_resume(self) -> None:
        async with self.till.subscribe("k.*", initial=False) as subscription:
            events = subscription.__aiter__()
            self.assertEqual(await subscription.pause(), 0)
            for key in "abc":
                await self.till.publish(f"k.{key}", key)
            other = await self.bus("debugger")
            self.assertEqual(await other.step(subscription.sub, client=self.till.greeting.client), 3)
            self.assertEqual((await soon(events.__anext__())).value, "a")
            self.assertEqual(await subscription.resume(), 2)
            self.assertEqual([(await soon(events.__anext__())).value for _ in range(2)], ["b", "c"])

    async def test_a_loop_acknowledges_what_it_has_handled(self) -> None:
        early = self.till.subscribe("cart", phase=1, ack=True, initial=False).__aiter__()
        late = self.till.subscribe("cart", initial=False).__aiter__()
        reading, waiting = asyncio.ensure_future(early.__anext__()), asyncio.ensure_future(late.__anext__())
        await self.till.sync()
        await self.till.publish("cart", 1)
        await soon(reading)
        await self.till.sync()
        self.assertFalse(waiting.done(), "the later phase has to wait")
        reading = asyncio.ensure_future(early.__anext__())
        self.assertEqual((await soon(waiting)).unacked, ())
        reading.cancel()

    async def test_values_end_with_a_time_or_a_connection(self) -> None:
        events = self.till.subscribe("state.*").__aiter__()
        await until_synced(events)
        other = await self.bus("kiosk")
        await other.publish("state.hint", 1, ttl=0.02)
        await other.publish("state.kiosk", 2, while_connected=True)
        await other.will(Write.publish("state.will", "lost"))
        seen = [await soon(events.__anext__()) for _ in range(2)]
        seen.append(await soon(events.__anext__()))
        await other.close()
        seen += [await soon(events.__anext__()) for _ in range(2)]
        self.assertEqual([event.reason for event in seen[2:]], ["expired", "will", "disconnected"])

    async def test_a_goodbye_takes_the_will_back(self) -> None:
        async with plugboard.connect("kiosk", self.broker.path) as other:
            await other.will(Write.publish("state.will", "lost"))
        with self.assertRaises(ValueError):
            async with plugboard.connect("kiosk", self.broker.path) as crashing:
                await crashing.will(Write.publish("state.crash", "lost"))
                raise ValueError("a mistake")
        await self.till.sync()
        self.assertEqual([key.key for key in await self.till.keys()], ["state.crash"])

    async def test_a_program_tells_how_it_is(self) -> None:
        clerk = await self.bus("till 3/\u00e9")
        await clerk.health("well")
        key = "till%203%2F%C3%A9.health"
        first = await self.till.entry(key)
        self.assertEqual((first.value["state"], first.by), ("well", "till 3/\u00e9"))
        self.assertRegex(first.value["since"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        await clerk.health("well")
        self.assertEqual((await self.till.entry(key)).revision, first.revision)
        await clerk.health("well", "x" * 1023 + "\u00e9", counts={"unsent": 3})
        second = (await self.till.entry(key)).value
        self.assertEqual(
            second,
            {"state": "well", "since": first.value["since"], "message": "x" * 1023, "counts": {"unsent": 3}},
        )
        await clerk.hello("till 4")
        self.assertEqual((await self.till.get("till%204.health")), second)
        with self.assertRaises(plugboard.NotFound):
            await self.till.get(key)
        await clerk.hello("till 5")
        await clerk.health("down")
        keys = [entry.key for entry in await self.till.keys("*.health")]
        self.assertEqual(keys, ["till%205.health"])
        await clerk.goodbye()
        self.assertEqual(await self.till.keys("*.health"), [])

    async def test_a_health_that_nobody_could_show_is_not_sent(self) -> None:
        nameless = await self.bus()
        anything: Any = {"a": "b"}
        for work in (
            lambda: nameless.health("well"),
            lambda: self.till.health("fine"),
            lambda: self.till.health("well", "\ud800"),
            lambda: self.till.health("well", anything),
            lambda: self.till.health("well", counts=anything),
            lambda: self.till.health("well", counts={"open": True}),
            lambda: self.till.health("well", counts={"half": 0.5}),
            lambda: self.till.health("well", counts={str(number): number for number in range(33)}),
        ):
            with self.assertRaises(plugboard.BadValue):
                await work()
        self.assertEqual(await self.till.sync(), 0)
        await self.till.health("well", counts={str(number): number for number in range(32)})

    async def test_an_announced_value_is_withdrawn(self) -> None:
        announcement = await self.till.announce("tills.1", "open")
        self.assertEqual(await self.till.get("tills.1"), "open")
        await announcement.withdraw()
        self.assertEqual(await self.till.keys(), [])

    async def test_with_a_grace_a_value_waits_for_the_next_program(self) -> None:
        first = await self.bus("kiosk", grace=3600)
        await first.announce("kiosk.open", True)
        await first.close()

        async def is_gone() -> bool:
            writer = (await self.till.who("kiosk.open")).writer
            return writer is not None and not writer.live

        while not await is_gone():
            await asyncio.sleep(0.001)
        second = await self.bus("kiosk", grace=3600)
        self.assertEqual(await self.till.get("kiosk.open"), True)
        await second.goodbye()
        self.assertEqual(await self.till.keys(), [])

    async def test_who_why_explain_trace_help(self) -> None:
        async with self.till.subscribe("cart.**"), self.till.trace("cart.**") as trace:
            await self.till.publish("cart.items", 1)
            await self.till.publish("cart.total", 2, cause=1)
            who = await self.till.who("cart.total")
            self.assertEqual(
                [(observer.name, observer.state) for observer in who.observers], [("till", "live")]
            )
            assert who.writer
            self.assertEqual((who.writer.name, who.writer.revision, who.server), ("till", 2, None))
            why = await self.till.why("cart.total")
            self.assertEqual(
                [(step.key, step.op) for step in why.steps],
                [("cart.total", "publish"), ("cart.items", "publish")],
            )
            told = await soon(trace.__aiter__().__anext__())
            self.assertEqual((told.kind, told.op, told.observers[0].outcome), ("trace", "publish", "sent"))
            effect = await self.till.explain(Write.patch("cart.total", {"a": 1}))
            self.assertEqual(
                (effect.effect, effect.value, effect.observers[0].outcome), ("update", {"a": 1}, "sent")
            )
            refused = (await self.till.explain(Write.delete("nowhere"))).refused
            assert refused
            self.assertEqual(refused.code, "not_found")
        self.assertIn("operations", await self.till.help())
        self.assertEqual((await self.till.help("publish"))["about"], "publish")

    async def test_a_name_may_change(self) -> None:
        await self.till.hello("kiosk")
        await self.till.publish("k", 1)
        self.assertEqual((await self.till.entry("k")).by, "kiosk")

    async def test_since_begins_where_a_program_ended(self) -> None:
        await self.till.publish("a", 1)
        await self.till.publish("b", 1)
        await self.till.delete("a")
        epoch = self.till.greeting.epoch
        async with self.till.subscribe("*", since=1, epoch=epoch) as subscription:
            seen = await until_synced(subscription.__aiter__())
        self.assertTrue(subscription.resumed)
        self.assertEqual([(event.kind, event.key) for event in seen[:-1]], [("update", "b"), ("delete", "a")])
        async with self.till.subscribe("*", since=1, epoch="0123456789abcdef") as anew:
            self.assertFalse(anew.resumed)

    async def test_numbers_are_exact_if_asked_for(self) -> None:
        exact = await self.bus(exact=True)
        await exact.publish("price", {"net": Decimal("49.90"), "gross": Raw("59.380")})
        entry = await exact.entry("price")
        self.assertEqual(entry.text, '{"net":49.90,"gross":59.380}')
        self.assertEqual(entry.value, {"net": Decimal("49.90"), "gross": Decimal("59.380")})
        self.assertEqual(str(entry.value["net"]), "49.90")

    async def test_numbers_beyond_decimals_are_exact_too(self) -> None:
        exact = await self.bus(exact=True)
        far = [Raw("1e99999999999999999999"), Raw("-1.50E-99999999999999999999")]
        await self.till.publish("far", far)
        await self.till.publish("near", Raw("1.50"))
        events = exact.subscribe("*").__aiter__()
        self.assertEqual([event.value for event in await until_synced(events)], [far, Decimal("1.50"), None])
        await exact.publish("copy", await exact.get("far"))
        self.assertEqual((await exact.entry("copy")).text, (await exact.entry("far")).text)

    async def test_an_integer_may_have_very_many_digits(self) -> None:
        await self.till.publish("big", Raw("9" * 10_000))
        self.assertEqual((await self.till.entry("big")).text, "9" * 10_000)
        self.assertEqual(int(str(await self.till.get("big"))[:5]), 99999)


class CauseTests(BrokerTestCase):
    async def asyncSetUp(self) -> None:
        self.client = await self.bus("price-indicator")

    async def cause(self, key: str) -> Any:
        return (await self.client.entry(key)).cause

    async def test_the_body_of_a_loop_names_its_event(self) -> None:
        await self.client.publish("cart", 1)
        async for event in self.client.subscribe("cart"):
            await self.client.publish(f"seen.{event.kind}", 1)
            await asyncio.create_task(self.client.publish(f"task.{event.kind}", 1))
            await self.client.batch([Write.publish(f"batch.{event.kind}", 1)])
            await self.client.publish(f"none.{event.kind}", 1, cause=None)
            if event.kind == "synced":
                break
        await self.client.publish("after", 1)
        for key, cause in (
            ("seen.update", 1),
            ("task.update", 1),
            ("batch.update", 1),
            ("none.update", None),
        ):
            self.assertEqual(await self.cause(key), cause, key)
        self.assertIsNone(await self.cause("seen.synced"))
        self.assertIsNone(await self.cause("after"))

    async def test_after_a_break_there_is_no_cause(self) -> None:
        await self.client.publish("cart", 1)
        async for _ in self.client.subscribe("cart").updates():
            break
        await self.client.publish("after", 1)
        self.assertIsNone(await self.cause("after"))
        async with self.client.subscribe("cart") as subscription:
            async for _ in subscription:
                break
            await self.client.publish("after", 1)
            self.assertIsNone(await self.cause("after"))

    async def test_the_inner_of_two_loops_counts(self) -> None:
        await self.client.publish("a", 1)
        await self.client.publish("b", 2)
        async for _ in self.client.subscribe("a").updates():
            async for _ in self.client.subscribe("b").updates():
                await self.client.publish("inner", 1)
                break
            await self.client.publish("outer", 1)
            break
        self.assertEqual((await self.cause("inner"), await self.cause("outer")), (2, 1))

    async def test_a_handler_names_its_call_as_the_cause(self) -> None:
        async def handle(call: Call) -> None:
            self.revision = call.revision
            await self.client.publish("handled", call.value)

        await self.client.serve("do", handle)
        caller = await self.bus("mallory")
        for cause in (None, 1):
            before = await caller.publish("before", 1)
            await caller.call("do", 1, cause=cause)
            self.assertEqual((self.revision, await self.cause("handled")), (before, before))
            steps = (await caller.why("handled")).steps
            self.assertEqual(
                [(step.key, step.op, step.by) for step in steps[:2]],
                [
                    ("handled", "publish", "price-indicator"),
                    ("do", "call", "mallory"),
                ],
            )
            self.assertEqual([step.key for step in steps[2:]], [] if cause is None else ["before"])


class CallTests(BrokerTestCase):
    async def asyncSetUp(self) -> None:
        self.server = await self.bus("cart")
        self.caller = await self.bus("caller")

    async def refusal(self, work: Any) -> plugboard.BusError:
        with self.assertRaises(plugboard.Refused) as caught:
            await soon(work)
        return caught.exception

    async def test_a_decorated_function_answers(self) -> None:
        @self.server.serve("cart.add")
        async def add(call: Call) -> Any:
            return {"added": call.value, "by": call.by, "has_value": call.has_value}

        @self.server.serve("cart.*")
        def rest(call: Call) -> str:
            return call.key

        await self.server.sync()
        self.assertEqual(
            await self.caller.call("cart.add", 1), {"added": 1, "by": "caller", "has_value": True}
        )
        self.assertEqual((await self.caller.call("cart.add"))["has_value"], False)
        self.assertEqual(await self.caller.call("cart.clear"), "cart.clear")
        self.assertEqual(rest(Call("k", None, None, None, False, "")), "k")

    async def test_a_servers_error_has_its_code(self) -> None:
        def fail(call: Call) -> Any:
            if call.value == "mistake":
                raise ZeroDivisionError("a mistake")
            if call.value == "object":
                return object()
            if call.value == "long":
                return "x" * 2_000_000
            raise plugboard.CallError("unknown_sku", "there is no phone")

        await self.server.serve("fail", fail)
        error = await self.refusal(self.caller.call("fail"))
        self.assertEqual((error.code, error.message, error.by), ("unknown_sku", "there is no phone", "cart"))
        with self.assertLogs("plugboard", "ERROR"):
            for value, code in (("mistake", "failed"), ("object", "failed"), ("long", "limit")):
                self.assertEqual((await self.refusal(self.caller.call("fail", value))).code, code)
        with self.assertRaises(plugboard.BadValue):
            plugboard.CallError("Not a code", "…")

    async def test_an_answer_that_the_broker_refuses_is_an_error_at_once(self) -> None:
        answers = [Raw("[" * 65 + "]" * 65), "x" * (self.caller.greeting.limits["value"] - 1), Raw('"\\ud800"')]
        await self.server.serve("answer", lambda call: answers[call.value])
        for number, code in enumerate(("failed", "limit", "failed")):
            with self.assertLogs("plugboard", "ERROR") as logs:
                error = await self.refusal(self.caller.call("answer", number, timeout=SECONDS))
            self.assertEqual((error.code, error.message[:25]), (code, "the answer can't be sent:"))
            self.assertIn("the answer of answer: ", logs.output[0])

    async def test_an_error_without_a_proper_text_is_told_at_once(self) -> None:
        class Silent(Exception):
            def __str__(self) -> str:
                raise ValueError("a mistake")

        cause: Any = ValueError("no phone")
        errors = [plugboard.CallError("unknown_sku", cause), Silent(), plugboard.BusError("x", code=cause)]

        def fail(call: Call) -> None:
            raise errors[call.value]

        await self.server.serve("fail", fail)
        with self.assertLogs("plugboard") as logs:
            told = [await self.refusal(self.caller.call("fail", number, timeout=SECONDS)) for number in range(3)]
        self.assertEqual(
            [(error.code, error.message) for error in told],
            [("unknown_sku", "no phone"), ("failed", "Silent"), ("failed", "BusError")],
        )
        self.assertEqual([record.getMessage() for record in logs.records], ["the handler of fail failed"])

    async def test_calls_are_answered_side_by_side(self) -> None:
        both = asyncio.Event()
        calls: List[Call] = []

        async def meet(call: Call) -> None:
            calls.append(call)
            if len(calls) == 2:
                both.set()
            await both.wait()

        await self.server.serve("meet", meet)
        await soon(asyncio.gather(self.caller.call("meet"), self.caller.call("meet")))

    async def test_errors_of_a_call_that_nobody_answers(self) -> None:
        self.assertEqual((await self.refusal(self.caller.call("nobody"))).code, "no_provider")

        async def wait(call: Call) -> None:
            await asyncio.Event().wait()

        await self.server.serve("wait", wait)
        self.assertEqual((await self.refusal(self.caller.call("wait", timeout=0.02))).code, "timeout")
        asking = asyncio.ensure_future(self.refusal(self.caller.call("wait")))
        await eventually("it is asked", lambda: len(self.server._answering) == 2)
        await self.server.close()
        self.assertEqual((await asking).code, "provider_gone")

    async def test_a_second_server_is_refused(self) -> None:
        await self.server.serve("cart", lambda call: 1)
        self.assertEqual((await self.refusal(self.caller.serve("cart", lambda call: 2))).code, "conflict")
        with self.assertLogs("plugboard", "ERROR"):
            self.caller.serve("cart")(lambda call: 2)
            self.assertEqual((await self.refusal(self.caller.forever())).code, "conflict")
        with self.assertRaises(plugboard.Conflict):
            self.server.serve("cart", lambda call: 3)

    async def test_a_spare_takes_over(self) -> None:
        told: List[str] = []
        first = await self.server.serve("cart", lambda call: 1, spare=True, serves=lambda: told.append("first"))
        second = await self.caller.serve("cart", lambda call: 2, spare=True, serves=lambda: told.append("second"))
        self.assertEqual((first.is_spare, second.is_spare, told), (False, True, ["first"]))
        server = (await self.caller.who("cart")).server
        assert server
        self.assertEqual((server.name, [spare.name for spare in server.spares]), ("cart", ["caller"]))
        await first.close()
        self.assertEqual((await self.server.call("cart"), second.is_spare), (2, False))
        self.assertEqual(told, ["first", "second"])

    async def test_an_error_of_serves_is_logged_and_the_service_goes_on(self) -> None:
        for number, error in enumerate((ValueError("a mistake"), plugboard.NotFound("no such key"))):
            with self.assertLogs("plugboard", "ERROR") as logs:
                serves = mock.Mock(side_effect=error)
                await self.server.serve(f"cart.{number}", lambda call: 1, serves=serves)
            self.assertIn(f"serves of cart.{number} failed", logs.output[0])
            self.assertEqual((await self.caller.call(f"cart.{number}"), serves.call_count), (1, 1))

    async def test_a_handler_may_close_the_bus(self) -> None:
        closed = asyncio.Event()

        async def leave(call: Call) -> None:
            await self.server.goodbye()
            closed.set()

        await self.server.serve("leave", leave)
        self.assertEqual((await self.refusal(self.caller.call("leave"))).code, "provider_gone")
        await soon(closed.wait())
        await self.server.forever()

    async def test_the_end_of_the_block_answers_the_calls_that_have_come(self) -> None:
        for grace, limit, told in ((0, SECONDS, 5), (3600, SECONDS, 5), (0, 0.05, "provider_gone")):
            asked, ended = asyncio.Event(), asyncio.Event()

            async def last(call: Call) -> Any:
                asked.set()
                await ended.wait()
                return call.value

            with mock.patch.object(plugboard, "GOODBYE_SECONDS_MAX", limit):
                async with plugboard.connect("server", self.broker.path, grace=grace) as bus:
                    await bus.serve("last", last)
                    calling = asyncio.ensure_future(self.caller.call("last", 5))
                    await soon(asked.wait())
                    unserved = asyncio.ensure_future(self.until_unserved("last"))
                    if told == 5:
                        unserved.add_done_callback(lambda _: ended.set())
            outcome = (await asyncio.gather(calling, return_exceptions=True))[0]
            self.assertEqual(getattr(outcome, "code", outcome), told)
            await unserved

    async def until_unserved(self, key: str) -> None:
        while (await self.caller.who(key)).server:
            pass

    async def test_serving_ends(self) -> None:
        serving = await self.server.serve("cart", lambda call: 1)
        await serving.close()
        self.assertEqual((await self.refusal(self.caller.call("cart"))).code, "no_provider")

    async def test_what_was_served_may_be_served_again_at_once(self) -> None:
        first = await self.server.serve("cart", lambda call: 1)
        closing = asyncio.ensure_future(first.close())
        await asyncio.sleep(0)
        second = await self.server.serve("cart", lambda call: 2)
        await closing
        await first.close()
        self.assertEqual(await self.caller.call("cart"), 2)
        await second.close()
        self.assertEqual(self.server._servings, {})

    async def test_two_spares_that_take_turns_refuse_no_call(self) -> None:
        other = await self.bus("other")
        servings = [await bus.serve("cart", lambda call: 1, spare=True) for bus in (self.server, other)]
        is_over = False

        async def ask() -> None:
            while not is_over:
                await self.caller.call("cart")

        asking = [asyncio.ensure_future(ask()) for _ in range(8)]
        for turn in range(40):
            await servings[turn % 2].close()
            bus = (self.server, other)[turn % 2]
            servings[turn % 2] = await bus.serve("cart", lambda call: 1, spare=True)
        is_over = True
        await soon(asyncio.gather(*asking))

    async def test_more_calls_than_the_limit_are_refused(self) -> None:
        async def wait(call: Call) -> None:
            await asyncio.Event().wait()

        await self.server.serve("wait", wait)
        with mock.patch.object(plugboard, "CALLS_MAX", 2):
            asking = [asyncio.ensure_future(self.caller.call("wait")) for _ in range(2)]
            await eventually("both are asked", lambda: len(self.server._answering) == 2)
            self.assertEqual((await self.refusal(self.caller.call("wait"))).code, "limit")
            self.assertFalse(asking[0].done() or asking[1].done())
        for task in asking:
            task.cancel()


class LimitTests(BrokerTestCase):
    async def asyncSetUp(self) -> None:
        self.client = await self.bus()

    async def refusal(self, work: Any) -> str:
        with self.assertRaises(plugboard.BusError) as caught:
            await soon(work)
        return caught.exception.code

    async def test_a_value_may_be_as_long_as_the_limit_and_no_longer(self) -> None:
        limits = self.client.greeting.limits
        async with self.client.subscribe("k", old=True) as subscription:
            longest = "x" * (limits["value"] - 2)
            await self.client.publish("k", longest)
            await self.client.publish("k", longest[:-1])
            first, second = [await soon(subscription.updates().__anext__()) for _ in range(2)]
            self.assertEqual((first.value, second.value, second.old), (longest, longest[:-1], longest))
            self.assertGreater(len(second.line), 2 * limits["value"] - 1000)
        self.assertEqual(await self.refusal(self.client.publish("k", longest + "x")), "limit")
        self.assertEqual(await self.refusal(self.client.publish("k", "x" * limits["line"])), "too_long")
        self.assertEqual(await self.client.get("k"), longest[:-1])

    async def test_limits_of_the_broker_are_typed_errors(self) -> None:
        await self.client.publish("k" * 256, 1)
        self.assertEqual(await self.refusal(self.client.publish("k" * 257, 1)), "bad_key")
        await self.client.publish("deep", Raw("[" * 64 + "]" * 64))
        self.assertEqual(
            await self.refusal(self.client.publish("deep", Raw("[" * 65 + "]" * 65))), "too_deep"
        )
        await self.client.hello("n" * 64)
        self.assertEqual(await self.refusal(self.client.hello("n" * 65)), "limit")
        await self.client.batch([Write.emit("k", 1)] * 1024)
        self.assertEqual(await self.refusal(self.client.batch([Write.emit("k", 1)] * 1025)), "limit")
        self.assertEqual(await self.refusal(self.client.keys(limit=0)), "bad_value")

    async def test_bad_values_are_not_sent(self) -> None:
        nested: List[Any] = []
        nested.append(nested)
        deep: List[Any] = []
        for _ in range(100_000):
            deep = [deep]
        bad = [
            object(),
            float("nan"),
            float("inf"),
            nested,
            deep,
            "\ud800",
            {(1, 2): 3},
            {1, 2},
            b"bytes",
            Decimal("NaN"),
        ]
        for number, value in enumerate(bad):
            with self.subTest(number):
                self.assertEqual(await self.refusal(self.client.publish("k", value)), "bad_value")
        for text in ("", "1 2", "nul", "NaN", '{"a":1}\n', '1,"key":"other"', "[" * 100_000):
            with self.subTest(text[:10]), self.assertRaises(plugboard.BadValue) as caught:
                await self.client.publish("k", Raw(text))
            self.assertIn(caught.exception.code, ("bad_json", "too_deep"))
        # Nothing was refused by the broker, because nothing was sent.
        self.assertEqual(await self.client.sync(), 0)
        while deep:
            deep = deep.pop()

    async def test_bad_times_are_refused(self) -> None:
        bad: List[Any] = [0, -1, float("nan"), float("inf"), True, "1", 1e300]
        for seconds in bad:
            with self.subTest(seconds=seconds):
                self.assertEqual(await self.refusal(self.client.publish("k", 1, ttl=seconds)), "bad_value")
                self.assertEqual(await self.refusal(self.client.sync(timeout=seconds)), "bad_value")

    async def test_a_bad_subscription_or_service_is_told_at_once(self) -> None:
        anything: Any = object()
        works: List[Any] = [
            self.client.subscribe,
            lambda: self.client.subscribe(anything),
            lambda: self.client.subscribe("k", where={"/a": {"<": float("nan")}}),
            lambda: self.client.serve(anything),
        ]
        for work in works:
            with self.assertRaises(plugboard.BadValue):
                work()
        with self.assertRaises(plugboard.BadValue):
            await plugboard.connect(anything, self.broker.path)
        self.assertTrue(self.client.connected)

    async def test_a_loop_that_is_too_slow_ends_with_an_error_after_what_waits(self) -> None:
        size = 100_000 + plugboard.EVENT_OVERHEAD_BYTES + 200
        async with self.client.subscribe("k", initial=False, unread_bytes_max=2 * size) as subscription:
            for _ in range(3):
                await self.client.publish("k", "x" * 100_000)
            events = subscription.__aiter__()
            self.assertEqual([(await soon(events.__anext__())).revision for _ in range(2)], [1, 2])
            self.assertEqual(await self.refusal(events.__anext__()), "unread_full")
            self.assertEqual((await self.client.who("k")).observers, ())

    async def test_the_outbox_is_limited(self) -> None:
        self.broker.kill()
        await eventually("the connection breaks", lambda: not self.client.connected)
        with mock.patch.object(plugboard, "OUTBOX_BYTES_MAX", 250_000):
            waiting = [asyncio.ensure_future(self.client.publish("k", "x" * 100_000)) for _ in range(2)]
            await asyncio.sleep(0)
            self.assertEqual(await self.refusal(self.client.publish("k", "x" * 100_000)), "outbox_full")
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        self.assertEqual(self.client._outbox_bytes, 0)


class CancellationTests(BrokerTestCase):
    async def asyncSetUp(self) -> None:
        self.client = await self.bus()

    async def cancelled(self, work: Any, turns: int) -> Any:
        """Begins the work, and cancels it after that many turns of the loop. Returns how it ended."""
        task = asyncio.ensure_future(work)
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        return (await asyncio.gather(task, return_exceptions=True))[0]

    async def test_whenever_a_request_is_cancelled_the_next_one_works(self) -> None:
        async def handler(call: Call) -> int:
            return 1

        async def serve(number: int) -> plugboard.Serving:
            return await self.client.serve(f"served.{number}", handler)

        kept: List[plugboard.Subscription] = []
        outcomes: List[Any] = []
        for turns in range(12):
            await self.cancelled(self.client.publish("k", 1), turns)
            await self.cancelled(self.client.get("k"), turns)
            await self.cancelled(self.client.call("nobody"), turns)
            kept.append(self.client.subscribe("k"))
            outcomes.append(await self.cancelled(kept[-1]._begin(), turns))
            await self.cancelled(self.client.subscribe("k").__aiter__().__anext__(), turns)
            outcomes.append(await self.cancelled(serve(turns), turns))
            await self.client.sync()
        for outcome in outcomes:
            # It may have begun before it was cancelled.
            if not isinstance(outcome, asyncio.CancelledError):
                await outcome.close()
        self.assertTrue(any(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes))
        gc.collect()
        await self.client.sync()
        self.assertEqual(self.client._pending, {})
        self.assertEqual((self.client._feeds, self.client._servings), ({}, {}))
        who = await self.client.who("k")
        self.assertEqual((who.observers, who.server), ((), None))

    async def test_no_event_is_lost_when_a_wait_for_it_is_cancelled(self) -> None:
        async with self.client.subscribe("k", initial=False) as subscription:
            events = subscription.__aiter__()
            seen: List[Any] = []
            for number in range(20):
                task = asyncio.ensure_future(events.__anext__())
                await asyncio.sleep(0)
                publishing = asyncio.ensure_future(self.client.publish("k", number))
                for _ in range(number % 7):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, publishing, return_exceptions=True)
                if not task.cancelled():
                    seen.append(task.result().value)
            while len(seen) < 20:
                seen.append((await soon(events.__anext__())).value)
        self.assertEqual(seen, list(range(20)))

    async def test_another_reader_gets_what_a_cancelled_one_was_woken_for(self) -> None:
        async with self.client.subscribe("k", initial=False) as subscription:
            readers = [asyncio.ensure_future(subscription.__aiter__().__anext__()) for _ in range(2)]
            await self.client.sync()
            feed = subscription._feed
            feed._add(Event("update", "k", 1))
            # The first one was woken, and has not run since.
            readers[0].cancel()
            self.assertEqual((await soon(readers[1])).revision, 1)

    async def test_opening_may_be_cancelled(self) -> None:
        for turns in range(8):
            outcome = await self.cancelled(plugboard.connect(path=self.broker.path)._open(), turns)
            if isinstance(outcome, plugboard.Bus):
                await outcome.close()
        # The broker notices their ends in its own time.
        end = asyncio.get_running_loop().time() + SECONDS
        while len(clients := await self.client.keys("$broker.clients.*")) > 1:
            self.assertLess(asyncio.get_running_loop().time(), end, clients)

    async def test_a_subscription_ends_with_its_loop(self) -> None:
        await self.client.publish("k", 1)
        async for _ in self.client.subscribe("k"):
            break
        gc.collect()
        await self.client.sync()
        self.assertEqual((await self.client.who("k")).observers, ())

    async def test_closing_ends_everything_that_waits(self) -> None:
        async def wait(call: Call) -> None:
            await asyncio.Event().wait()

        await self.client.serve("wait", wait)
        loop = asyncio.ensure_future(self.everything(self.client.subscribe("k")))
        asking = asyncio.ensure_future(self.client.call("wait"))
        lasting = asyncio.ensure_future(self.client.forever())
        await eventually("it is asked", lambda: len(self.client._answering) == 1)
        await self.client.close()
        self.assertEqual([event.kind for event in await soon(loop)], ["synced"])
        with self.assertRaises(plugboard.Closed):
            await soon(asking)
        await soon(lasting)
        with self.assertRaises(plugboard.Closed):
            await self.client.get("k")
        with self.assertRaises(plugboard.Closed):
            self.client.subscribe("k")
        await self.client.close()

    async def everything(self, subscription: plugboard.Subscription) -> List[Event]:
        return [event async for event in subscription]


class ReadingTests(BrokerTestCase):
    """Events that a program asks for one by one."""

    async def asyncSetUp(self) -> None:
        self.client = await self.bus("reader")
        await self.client.publish("a", 1)

    async def test_a_subscription_gives_one_event_after_the_other(self) -> None:
        async with self.client.subscribe("a") as events:
            self.assertEqual([(await soon(events.__anext__())).kind for _ in range(2)], ["update", "synced"])
            await self.client.publish("a", 2)
            self.assertEqual((await soon(events.__anext__())).value, 2)
            await events.close()
            with self.assertRaises(StopAsyncIteration):
                await soon(events.__anext__())

    async def test_so_do_its_updates_and_a_trace(self) -> None:
        async with self.client.subscribe("a").updates() as updates:
            await self.client.publish("a", 2)
            self.assertEqual([(await soon(updates.__anext__())).value for _ in range(2)], [1, 2])
        self.assertEqual((await self.client.who("a")).observers, ())
        async with self.client.trace("a") as trace:
            await self.client.publish("a", 3)
            self.assertEqual((await soon(trace.__anext__())).op, "publish")
        updates = await self.client.subscribe("a").updates()
        self.assertEqual((await soon(updates.__anext__())).value, 3)

    async def test_it_begins_with_the_first_event(self) -> None:
        events = self.client.subscribe("a")
        self.assertEqual((await soon(events.__anext__())).value, 1)
        del events
        gc.collect()
        await self.client.sync()
        self.assertEqual((await self.client.who("a")).observers, ())

    async def test_a_view_of_the_updates_does_not_end_it(self) -> None:
        async with self.client.subscribe("a") as events:
            async for _ in events.updates():
                break
            gc.collect()
            await self.client.publish("a", 2)
            self.assertEqual((await soon(events.__anext__())).kind, "synced")

    async def test_what_was_read_by_hand_is_a_cause_until_the_next_one(self) -> None:
        async with self.client.subscribe("a") as events:
            event = await events.__anext__()
            await self.client.publish("effect", 1)
            self.assertEqual((await self.client.entry("effect")).cause, event.revision)
            self.assertEqual((await events.__anext__()).kind, "synced")
            await self.client.publish("effect", 2)
            self.assertIsNone((await self.client.entry("effect")).cause)
            await self.client.publish("a", 2)
            await events.__anext__()
        await self.client.publish("effect", 3)
        self.assertIsNone((await self.client.entry("effect")).cause)

    async def test_what_was_read_by_hand_is_acknowledged_by_a_loop(self) -> None:
        other = await self.bus("other")
        later = await other.subscribe("a", phase=2, initial=False)
        async with self.client.subscribe("a", phase=1, ack=True, initial=False) as events:
            await other.publish("a", 2)
            self.assertEqual((await soon(events.__anext__())).value, 2)
            loop = asyncio.ensure_future(events.__aiter__().__anext__())
            event = await soon(later.updates().__anext__())
            self.assertEqual((event.value, event.unacked), (2, ()))
            loop.cancel()


class PipelineTests(BrokerTestCase):
    """Requests that go out together."""

    async def asyncSetUp(self) -> None:
        self.client = await self.bus("writer")

    async def test_each_request_has_its_result(self) -> None:
        async with self.client.pipeline() as pipe:
            pipe.publish("a", None)
            pipe.add("n", 2)
            pipe.get("a")
            pipe.patch("m", {"x": [Raw("1.10")]})
            pipe.batch([Write.publish("b", 1), Write.publish("c", 2)])
            pipe.emit("e", 1)
            pipe.delete("b")
            pipe.publish("last", 1, cause=7, while_connected=True, if_revision=0)
            self.assertEqual(len(pipe), 8)
            self.assertEqual((await self.client.keys()), [])
        self.assertEqual(pipe.results, [1, 2, None, 3, 4, 4, 5, 6])
        entry = await self.client.entry("last")
        self.assertEqual((entry.cause, entry.while_connected), (7, True))

    async def test_an_error_is_raised_and_the_others_count(self) -> None:
        for answers in (True, False):
            with self.subTest(answers=answers):
                pipe = self.client.pipeline(answers=answers)
                pipe.publish("k", 1)
                pipe.delete("nowhere")
                pipe.add("text", "x")
                pipe.publish("k", 2)
                with self.assertRaises(plugboard.NotFound):
                    await pipe.send()
                told = [getattr(result, "code", "") for result in pipe.results]
                self.assertEqual(told, ["", "not_found", "wrong_type", ""])
                self.assertEqual(await self.client.get("k"), 2)
                # It can be used again.
                pipe.publish("k", 3)
                await pipe.send()
                self.assertEqual(len(pipe.results), 1)

    async def test_without_answers_only_errors_are_told(self) -> None:
        first, second = (self.client.pipeline(answers=False) for _ in range(2))
        for number in range(1000):
            first.publish(f"k.{number}", number)
            second.publish("k. bad" if number == 700 else "k", number)
        self.client._submit("help", {}, plugboard._nothing)
        ended = await asyncio.gather(first.send(), second.send(), self.client.sync(), return_exceptions=True)
        self.assertEqual(ended[0], [None] * 1000)
        self.assertEqual(getattr(ended[1], "code", None), "bad_key")
        wrong = [place for place, result in enumerate(second.results) if result is not None]
        self.assertEqual(wrong, [700])
        self.assertEqual(await self.client.get("k.999"), 999)
        for work in (lambda: first.get("k"), lambda: first.publish("k", 1, durable=True)):
            with self.assertRaises(plugboard.BadValue):
                work()

    async def test_many_requests_go_out_in_blocks(self) -> None:
        for answers in (True, False):
            pipe = self.client.pipeline(answers=answers)
            text = "x" * 1000
            for number in range(2000):
                pipe.publish("k", f"{number} {text}")
            with mock.patch.object(self.client, "_deliver", wraps=self.client._deliver) as deliver:
                await pipe.send()
            self.assertGreaterEqual(deliver.call_count, 8)
            self.assertEqual(len(pipe.results), 2000)
            self.assertEqual(await self.client.get("k"), f"1999 {text}")
        self.assertEqual(pipe.results, [None] * 2000)

    def test_a_block_ends_at_its_limit(self) -> None:
        half = b"x" * (plugboard.BLOCK_BYTES_MAX // 2)
        self.assertEqual(plugboard._block_end([half, half, b"x"], 0), 2)
        self.assertEqual(plugboard._block_end([half, half + b"x", b"x"], 0), 1)
        self.assertEqual(plugboard._block_end([half + half + b"x", b"x"], 0), 1)
        self.assertEqual(plugboard._block_end([half, half, b"x"], 2), 3)

    async def test_what_cannot_be_sent_is_refused_where_it_stands(self) -> None:
        pipe = self.client.pipeline()
        overlong = "x" * self.client.greeting.limits["line"]
        for value, code in ((object(), "bad_value"), ("x" * 1_060_000, "too_long"), (Raw("1 2"), "bad_json")):
            with self.assertRaises(plugboard.BadValue) as caught:
                pipe.publish("k", value)
            self.assertEqual(caught.exception.code, code)
        self.assertEqual((len(pipe), await pipe.send()), (0, []))

    async def test_a_body_that_raises_sends_nothing(self) -> None:
        with self.assertRaises(OSError):
            async with self.client.pipeline() as pipe:
                pipe.publish("k", 1)
                raise OSError
        self.assertEqual(await self.client.keys(), [])

    async def test_writes_name_the_event_as_their_cause(self) -> None:
        await self.client.publish("a", 1)
        async for event in self.client.subscribe("a").updates():
            async with self.client.pipeline(answers=False) as pipe:
                pipe.publish("effect", event.value)
                pipe.batch([Write.publish("effects", event.value)])
            break
        self.assertEqual((await self.client.entry("effect")).cause, 1)
        self.assertEqual((await self.client.entry("effects")).cause, 1)

    async def test_a_broken_connection_fails_what_has_no_answer(self) -> None:
        for answers in (True, False):
            client = await self.bus(reconnect=False)
            pipe = client.pipeline(answers=answers)
            for number in range(3):
                pipe.publish("k", "x" * plugboard.BLOCK_BYTES_MAX)
            sending = asyncio.ensure_future(pipe.send())
            await asyncio.sleep(0)
            self.assertTrue(client._pending, "the first is under way")
            self.broker.kill()
            with self.assertRaises(plugboard.BusError):
                await soon(sending)
            self.assertEqual(len(pipe.results), 3)
            self.assertIsInstance(pipe.results[2], plugboard.BusError)
            self.assertEqual(client._pending, {})
            self.broker.start()

    async def test_a_cancelled_one_leaves_nothing(self) -> None:
        pipe = self.client.pipeline()
        for number in range(10):
            pipe.publish("k", number)
        sending = asyncio.ensure_future(pipe.send())
        await asyncio.sleep(0)
        sending.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await sending
        self.assertEqual((self.client._pending, self.client._outbox_bytes), ({}, 0))
        self.assertEqual(await self.client.sync(), 10)


class WatchTests(unittest.IsolatedAsyncioTestCase):
    """One timer watches over all requests."""

    async def test_each_request_has_its_own_time(self) -> None:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            say(writer, FakeBroker.GREETING)
            await reader.read()

        ended: List[float] = []

        async def ask(bus: plugboard.Bus, seconds: float) -> None:
            with self.assertRaises(plugboard.TimedOut) as caught:
                await bus.sync(timeout=seconds)
            self.assertIn(f"within {seconds:g} s", caught.exception.message)
            ended.append(seconds)

        async with FakeBroker(talk) as fake, plugboard.connect(path=fake.path) as bus:
            pipe = bus.pipeline(timeout=0.45)
            pipe.publish("k", 1)
            pipe.publish("k", 2)
            sent = asyncio.ensure_future(pipe.send())
            await asyncio.gather(*(ask(bus, seconds) for seconds in (0.6, 0.3, 0.001)))
            self.assertEqual(ended, [0.001, 0.3, 0.6])
            self.assertIsInstance(sent.exception(), plugboard.TimedOut)
            self.assertEqual((bus._pending, bus._next_deadline), ({}, math.inf))
            await bus.close()


class BlockingTests(BrokerTestCase):
    """Scripts: none of these tests has a loop of its own."""

    def open(self, name: str = "script", **options: Any) -> plugboard.BlockingBus:
        bus = plugboard.open(name, self.broker.path, **options)
        self.addCleanup(bus.close)
        return bus

    def test_with_a_grace_the_end_of_the_block_is_no_goodbye(self) -> None:
        watch = self.open("watch")
        with plugboard.open("kiosk", self.broker.path, grace=3600) as bus:
            bus.announce("kiosk.open", True)

        def is_there() -> bool:
            writer = watch.who("kiosk.open").writer
            assert writer, "the value waits for the next program"
            return writer.live

        while is_there():
            time.sleep(0.001)
        with plugboard.open("kiosk", self.broker.path, grace=3600) as bus:
            bus.hello("till")
            bus.hello("kiosk")
            bus.goodbye()
        with self.assertRaises(plugboard.Refused):
            watch.get("kiosk.open")

    def test_requests(self) -> None:
        with plugboard.open("script", self.broker.path) as bus:
            self.assertEqual(bus.publish("a", 1), 1)
            bus.batch([Write.publish("b", 2), Write.publish("c", {"d": 3})])
            bus.patch("c", {"e": 4})
            self.assertEqual(bus.add("n", 2, field="/of"), 2)
            bus.delete("n")
            self.assertEqual((bus.get("c"), bus.entry("b").revision), ({"d": 3, "e": 4}, 2))
            self.assertEqual([key.key for key in bus.keys()], ["a", "b", "c"])
            bus.delete("a")
            with self.assertRaises(plugboard.NotFound):
                bus.get("a")
            bus.emit("a", 1)
            bus.hello("other")
            bus.will(Write.publish("will", 1))
            bus.health("degraded", "no paper")
            self.assertEqual(bus.get("other.health")["message"], "no paper")
            withdraw = bus.announce("here", 1)
            self.assertEqual(bus.get("here"), 1)
            withdraw()
            self.assertEqual(bus.who("b").observers, ())
            self.assertEqual(len(bus.why("b").steps), 1)
            self.assertEqual(bus.explain(Write.delete("b")).effect, "delete")
            self.assertEqual(bus.sync(), 9)
            self.assertIn("operations", bus.help())
        self.assertTrue(bus.closed)
        for work in (lambda: bus.get("b"), lambda: bus.subscribe("b")):
            with self.assertRaises(plugboard.Closed):
                work()
        self.assertFalse([thread for thread in threading.enumerate() if thread.name == "plugboard"])

    def test_a_pipeline(self) -> None:
        bus = self.open()
        with bus.pipeline() as pipe:
            pipe.publish("k", 1)
            pipe.get("k")
        self.assertEqual(pipe.results, [1, 1])
        with self.assertRaises(plugboard.NotFound), bus.pipeline(answers=False) as pipe:
            pipe.delete("nowhere")
            pipe.publish("k", 2)
        self.assertEqual(bus.get("k"), 2)

    def test_a_loop_and_its_causes(self) -> None:
        bus = self.open()
        bus.publish("cart", 1)
        with bus.subscribe("cart") as events:
            for event in events:
                bus.publish(f"seen.{event.kind}", 1)
                if event.kind == "synced":
                    break
            self.assertEqual((bus.entry("seen.update").cause, bus.entry("seen.synced").cause), (1, None))
            with self.assertRaises(plugboard.TimedOut):
                events.next(timeout=0.01)
            bus.publish("cart", 2)
            last = events.next(timeout=SECONDS)
            assert last
            self.assertEqual(last.value, 2)
        bus.publish("after", 1)
        self.assertIsNone(bus.entry("after").cause)
        self.assertEqual(next(iter(bus.subscribe("cart").updates())).value, 2)

    def test_after_a_break_there_is_no_cause(self) -> None:
        bus = self.open()
        bus.publish("a", 1)
        events = bus.subscribe("a")
        for _ in events:
            bus.publish("during", 1)
            break
        bus.publish("after", 1)
        self.assertEqual((bus.entry("during").cause, bus.entry("after").cause), (1, None))
        # The next loop goes on.
        self.assertEqual(next(iter(events)).kind, "synced")
        bus.publish("a", 2)
        with self.assertRaises(ZeroDivisionError):
            for event in events:
                print(event.value / 0)
        bus.publish("after", 2)
        self.assertIsNone(bus.entry("after").cause)

    def test_a_subscription_outlives_waits_that_end_before_it_begins(self) -> None:
        bus = self.open()
        self.broker.kill()
        while bus.connected:
            time.sleep(0.001)
        events = bus.subscribe("k")
        for _ in range(2):
            with self.assertRaises(plugboard.TimedOut):
                events.next(timeout=0.01)
        self.broker.start()
        bus.publish("k", 1)
        event = events.next(timeout=SECONDS)
        assert event
        self.assertIn(event.kind, ("update", "synced"))

    def test_a_handler_may_use_the_bus(self) -> None:
        bus = self.open()

        @bus.serve("twice")
        def twice(call: Call) -> int:
            bus.publish("handled", call.value)
            return 2 * int(call.value)

        revision = bus.publish("before", 1)
        self.assertEqual(bus.call("twice", 21, cause=7), 42)
        self.assertEqual(bus.entry("handled").cause, revision)
        bus.unserve("twice")
        with self.assertRaises(plugboard.Refused):
            bus.call("twice", 21)

    def test_sys_exit_in_a_handler_is_an_error_of_it(self) -> None:
        bus = self.open()

        @bus.serve("exit")
        def leave(call: Call) -> None:
            sys.exit(3)

        with self.assertLogs("plugboard", "ERROR"), self.assertRaises(plugboard.Refused) as caught:
            bus.call("exit", timeout=SECONDS)
        self.assertEqual(caught.exception.message, "RuntimeError: the handler called sys.exit(3)")
        bus.sync()

    def test_the_end_of_the_block_answers_the_calls_that_have_come(self) -> None:
        caller = self.open("caller")
        answers: List[Any] = []
        thread = threading.Thread(target=lambda: answers.append(caller.call("last", 5)))
        asked = threading.Event()
        with mock.patch.object(plugboard, "GOODBYE_SECONDS_MAX", SECONDS):
            with plugboard.open("server", self.broker.path) as bus:

                @bus.serve("last")
                def last(call: Call) -> Any:
                    asked.set()
                    while bus.who("last").server:
                        pass
                    bus.publish("handled", call.value)
                    return call.value

                thread.start()
                self.assertTrue(asked.wait(SECONDS))
        thread.join(SECONDS)
        self.assertEqual((answers, caller.get("handled")), ([5], 5))

    def test_closing_ends_the_waits_of_other_threads(self) -> None:
        bus = self.open()
        seen: List[Any] = []

        def read() -> None:
            seen.extend(event.kind for event in bus.subscribe("k"))

        def ask() -> None:
            try:
                bus.forever()
            except plugboard.Closed:
                seen.append("closed")

        threads = [threading.Thread(target=read), threading.Thread(target=ask)]
        for thread in threads:
            thread.start()
        observer = self.open("observer")
        while not observer.who("k").observers:
            pass
        bus.close()
        for thread in threads:
            thread.join(SECONDS)
            self.assertFalse(thread.is_alive())

    def test_without_a_broker_it_says_so(self) -> None:
        self.broker.kill()
        with self.assertRaises(plugboard.NoBroker):
            plugboard.open(path=self.broker.path)
        self.assertFalse([thread for thread in threading.enumerate() if thread.name == "plugboard"])

    def test_a_program_ends_without_closing(self) -> None:
        script = f"import plugboard; bus = plugboard.open(path={self.broker.path!r}); bus.publish('k', 1)"
        self.assertEqual(self.run_script(script).returncode, 0)

    def test_ctrl_c_ends_a_wait_and_nothing_else(self) -> None:
        server = self.open("server")
        asked, released = threading.Event(), threading.Event()
        self.addCleanup(released.set)

        @server.serve("wait")
        def wait(call: Call) -> None:
            asked.set()
            released.wait(SECONDS)

        script = """if True:
            import plugboard, signal, sys
            signal.signal(signal.SIGINT, signal.default_int_handler)
            bus = plugboard.open(path=sys.argv[1])
            try:
                bus.call("wait")
            except KeyboardInterrupt:
                while bus._bus._pending:
                    bus.sync()
                print(bus.sync())
            """
        process = subprocess.Popen(
            [sys.executable, "-c", script, self.broker.path], env=self.environment(), stdout=subprocess.PIPE
        )
        while not asked.wait(0.1):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=SECONDS)[0], b"0\n")

    @staticmethod
    def environment() -> Dict[str, str]:
        return {**os.environ, "PYTHONPATH": os.path.dirname(plugboard.__file__)}

    def run_script(self, script: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            env=self.environment(),
            timeout=SECONDS,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


class WireTests(BrokerTestCase):
    async def test_a_bus_belongs_to_its_loop(self) -> None:
        client = await self.bus()

        def elsewhere() -> str:
            try:
                asyncio.run(client.sync())
            except plugboard.BusError as error:
                return error.code
            return "nothing"

        self.assertEqual(await asyncio.to_thread(elsewhere), "wrong_loop")

    async def test_requests_go_out_in_the_order_of_their_tasks(self) -> None:
        client = await self.bus()
        revisions = await asyncio.gather(*(client.publish("k", number) for number in range(200)))
        self.assertEqual(revisions, list(range(1, 201)))

    async def test_a_peer_sends_what_the_protocol_shows(self) -> None:
        peer = await Peer.connect(self.broker.path)
        await peer.line()
        peer.send(b"publish lamp true\n")
        self.assertEqual(await peer.line(), b'{"ok":"publish","revision":1}')
        await peer.close()

    async def test_a_loop_may_begin_tasks_at_once(self) -> None:
        loop = asyncio.get_running_loop()
        if not hasattr(asyncio, "eager_task_factory"):
            self.skipTest("Python 3.12 and newer")
        loop.set_task_factory(asyncio.eager_task_factory)
        async with plugboard.connect(path=self.broker.path) as client:
            await client.publish("k", 1)
            self.assertEqual((await soon(client.subscribe("k").updates().__anext__())).value, 1)
        with self.assertRaises(plugboard.NoBroker):
            await soon(plugboard.connect(path=self.broker.path + "-nobody")._open())

    def test_a_bus_that_is_not_open_says_so(self) -> None:
        bus = plugboard.connect(path=self.broker.path)
        with self.assertRaises(plugboard.BusError) as caught:
            bus.subscribe("k")
        self.assertEqual(caught.exception.code, "not_open")


class TextTests(unittest.TestCase):
    """What needs no broker."""

    def test_a_member_keeps_its_text(self) -> None:
        line = b'{"event":"update" , "key":"a\\"b", "old":{"value":[1]}, "value": { "b" : 1.10, "b":1e400 } ,"by":"x"}'
        self.assertEqual(plugboard._member_text(line, "value"), '{ "b" : 1.10, "b":1e400 }')
        self.assertEqual(plugboard._member_text(line, "by"), '"x"')
        self.assertIsNone(plugboard._member_text(line, "cause"))

    def test_texts_that_look_like_stand_ins_are_kept(self) -> None:
        value = [Raw("1.10"), f"{plugboard._STAND_IN[:8]}:0", "x:0", Decimal("1E+3")]
        self.assertEqual(
            plugboard._encode(value), f'[1.10,"{plugboard._STAND_IN[:8]}:0","x:0",1E+3]'.encode()
        )

    def test_the_more_specific_pattern_wins(self) -> None:
        patterns = ["**", "*.add", "cart.**", "cart.*", "cart.add"]
        self.assertEqual(sorted(reversed(patterns), key=plugboard._rank), list(reversed(patterns)))

    def test_times_are_rounded_up_to_milliseconds(self) -> None:
        for seconds, milliseconds in (
            (0.07, 70),
            (0.0701, 71),
            (1, 1000),
            (1e-9, 1),
            (5e-324, 1),
            (4.35, 4350),
        ):
            self.assertEqual(plugboard._milliseconds("ttl", seconds), milliseconds)

    def test_errors_say_what_to_try(self) -> None:
        error = plugboard._refusal({"error": "bad_json", "message": "no", "hint": "yes", "at": 3})
        self.assertEqual((str(error), error.at, type(error)), ("bad_json: no (yes)", 3, plugboard.Refused))
        self.assertIsInstance(plugboard._refusal({"error": "conflict"}), plugboard.Conflict)

    def test_text_for_people_spells_out_what_cannot_be_seen(self) -> None:
        for text, shown in (
            ("\x1b[31mred\x07", "\\u001b[31mred\\u0007"),
            ("two\nlines\r", "two\\u000alines\\u000d"),
            ("a\u202eb\u200bc\x9b\x7f", "a\\u202eb\\u200bc\\u009b\\u007f"),
            ("\U000e0041", "\\udb40\\udc41"),
            ("tab\tand ünïcödé 🙂", "tab\tand ünïcödé 🙂"),
        ):
            self.assertEqual(plugboard._shown(text), shown)
            error = plugboard.Refused(text, code="x", hint=text)
            self.assertEqual((str(error), error.message), (f"x: {shown} ({shown})", text))

    def test_the_characters_are_those_of_the_command(self) -> None:
        table = Path(PROTOCOL.parent, "Sources/PlugboardWire/Text/InvisibleCharacters.swift")
        ranges = [
            (int(low, 16), int(high, 16))
            for low, high in re.findall("0x([0-9A-F]+)[.]{3}0x([0-9A-F]+)", table.read_text(encoding="utf-8"))
        ]
        self.assertGreater(len(ranges), 20)
        for number in range(0x110000):
            is_invisible = number < 0x20 and number != 9 or any(low <= number <= high for low, high in ranges)
            if bool(plugboard._INVISIBLE.match(chr(number))) != is_invisible:
                self.fail(f"U+{number:04X}")

    def test_what_is_logged_is_spelled_out(self) -> None:
        with self.assertLogs("plugboard") as logs:
            plugboard._log.warning("%s: %d of %s", "a\x1bb", 1, plugboard.Refused("c\nd", code="x"))
            try:
                raise ValueError("e\x1bf\ng")
            except ValueError:
                plugboard._log.exception("it\nfailed")
        self.assertEqual(logs.records[0].getMessage(), "a\\u001bb: 1 of x: c\\u000ad")
        self.assertEqual(logs.records[1].getMessage(), "it\nfailed")
        self.assertTrue(str(logs.records[1].exc_text).endswith("\nValueError: e\\u001bf\\u000ag"))

    def test_every_public_name_exists(self) -> None:
        for name in plugboard.__all__:
            self.assertTrue(hasattr(plugboard, name), name)

    def test_the_usual_timeout(self) -> None:
        for text, seconds in [("30", 30), (".5", 0.5), ("", 5), ("soon", 5), ("0", 5), ("-1", 5), ("1e3", 5)]:
            with mock.patch.dict(os.environ, {"PLUGBOARD_TIMEOUT": text}):
                self.assertEqual(plugboard.connect()._options.request_timeout, seconds, text)
                self.assertEqual(plugboard.connect(request_timeout=7)._options.request_timeout, 7)
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual(plugboard.connect()._options.connect_timeout, 5)

    def test_the_default_place(self) -> None:
        with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": "/run/x"}, clear=True):
            self.assertEqual(plugboard.standard_path(), "/run/x/plugboard/bus.sock")
        with mock.patch.dict(os.environ, {"TMPDIR": "/t"}, clear=True):
            self.assertEqual(plugboard.standard_path(), f"/t/plugboard-{os.getuid()}/bus.sock")
        with mock.patch.dict(os.environ, {"PLUGBOARD_SOCKET": "/s"}, clear=True):
            self.assertEqual(plugboard.standard_path(), "/s")
