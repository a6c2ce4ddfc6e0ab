"""Plays annotated sessions (`protocol/transcripts/README.md`) with a broker, line by line.

An expected line is compared byte for byte, member by member in the written order, except where `…` stands.
"""

from __future__ import annotations

import json
import re
from typing import Dict, List, NamedTuple, Optional, Set, Tuple, Union

from brokers import Peer

SIGN = "…"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
OTHER = re.compile(r"[^\s,:\[\]{}\"]+")
BLANK = re.compile(r"[ \t\r\n]*")
GENERATED = re.compile("«([^»]*)»")


class Node(NamedTuple):
    """A value as it stands in a text. An open one may have further members."""

    text: str
    string: Optional[str] = None
    members: Optional[List[Tuple[str, "Node"]]] = None
    elements: Optional[List["Node"]] = None
    is_open: bool = False


class Reader:
    """Reads JSON, and `…` as the last member of an object or an array."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def document(self) -> Node:
        node = self.node()
        self.blank()
        if self.place != len(self.text):
            raise ValueError(f"more than one value: {self.text[:100]}")
        return node

    def node(self) -> Node:
        self.blank()
        start = self.place
        if self.takes("{"):
            members, is_open = self.members()
            return Node(self.text[start : self.place], members=members, is_open=is_open)
        if self.takes("["):
            elements, is_open = self.elements()
            return Node(self.text[start : self.place], elements=elements, is_open=is_open)
        if self.text[start : start + 1] == '"':
            text = self.match(STRING)
            return Node(text, string=json.loads(text))
        return Node(self.match(OTHER))

    def members(self) -> Tuple[List[Tuple[str, Node]], bool]:
        members: List[Tuple[str, Node]] = []
        while not self.takes("}"):
            if self.takes(SIGN):
                self.expect("}")
                return members, True
            self.blank()
            name = json.loads(self.match(STRING))
            self.expect(":")
            members.append((name, self.node()))
            self.takes(",")
        return members, False

    def elements(self) -> Tuple[List[Node], bool]:
        elements: List[Node] = []
        while not self.takes("]"):
            if self.takes(SIGN):
                self.expect("]")
                return elements, True
            elements.append(self.node())
            self.takes(",")
        return elements, False

    def blank(self) -> None:
        match = BLANK.match(self.text, self.place)
        self.place = match.end() if match else self.place

    def takes(self, text: str) -> bool:
        self.blank()
        is_there = self.text.startswith(text, self.place)
        self.place += len(text) if is_there else 0
        return is_there

    def expect(self, text: str) -> None:
        if not self.takes(text):
            raise ValueError(f"no {text} at {self.place} in {self.text[:100]}")

    def match(self, pattern: "re.Pattern[str]") -> str:
        match = pattern.match(self.text, self.place)
        if not match:
            raise ValueError(f"no value at {self.place} in {self.text[:100]}")
        self.place = match.end()
        return match[0]


def mismatch(expected: str, line: bytes) -> Optional[str]:
    """Why a line isn't as expected; None if it is."""
    text = line.decode()
    if text == expected:
        return None
    return compare(Reader(expected).document(), Reader(text).document(), "the line")


def compare(expected: Node, got: Node, path: str) -> Optional[str]:
    if SIGN not in expected.text:
        return None if expected.text == got.text else f"{path} is {got.text[:300]}, not {expected.text[:300]}"
    if expected.string is not None:
        is_same = expected.string == SIGN or got.string is not None and fits(expected.string, got.string)
        return None if is_same else f"{path} is {got.text[:300]}, not {expected.text}"
    if expected.members is not None and got.members is not None:
        names, wanted = [name for name, _ in got.members], [name for name, _ in expected.members]
        if names[: len(wanted)] != wanted or not expected.is_open and len(names) != len(wanted):
            return f"{path} has the members {names}, not {wanted}"
        pairs = [(want[1], member[1], want[0]) for want, member in zip(expected.members, got.members)]
    elif expected.elements is not None and got.elements is not None:
        if (
            len(got.elements) < len(expected.elements)
            or not expected.is_open
            and len(got.elements) != len(expected.elements)
        ):
            return f"{path} has {len(got.elements)} elements"
        pairs = [(want, has, "[]") for want, has in zip(expected.elements, got.elements)]
    else:
        return f"{path} is {got.text[:300]}, not {expected.text}"
    return next(filter(None, (compare(want, has, f"{path}.{name}") for want, has, name in pairs)), None)


def fits(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(SIGN))), text, re.DOTALL) is not None


def generated(text: str) -> bytes:
    """`«C3 28»` is those bytes, `«257×a»` is 257 times `a`, and everything else is itself."""

    def made(match: "re.Match[bytes]") -> bytes:
        inner = match[1].decode()
        times, cross, unit = inner.partition("×")
        return unit.encode() * int(times) if cross and times.isdecimal() else bytes.fromhex(inner)

    return re.sub(GENERATED.pattern.encode(), made, text.encode())


class Step(NamedTuple):
    place: str
    client: str
    mark: str
    """`>` sends, `<` expects, `|` ends the sending half, `!` closes, `.` expects the end."""
    data: Union[bytes, str]


def steps_of(name: str, text: str) -> List[Step]:
    lines = text.split("\n")
    if any(line.startswith("#< ") for line in lines):
        return [piped(f"{name}:{number}", line) for number, line in enumerate(lines[:-1], 1)]
    numbered = enumerate(lines, 1)
    return [marked(f"{name}:{number}", line) for number, line in numbered if line and line[0] != "#"]


def piped(place: str, line: str) -> Step:
    """The whole file is sent, even what is expected: to the broker that is a comment."""
    if line.startswith("#< "):
        return Step(place, "", "#", line[3:])
    return Step(place, "", ">", line.encode() + b"\n")


def marked(place: str, line: str) -> Step:
    match = re.fullmatch("([A-Z]?)([<>])(.*)", line)
    if not match:
        raise ValueError(f"{place}: {line}")
    client, mark, rest = match.groups()
    if mark == "<":
        return Step(place, client, ".", "") if rest == "|" else Step(place, client, "<", rest[1:])
    if rest in ("|", "!"):
        return Step(place, client, rest, "")
    if rest.startswith("~ "):
        return Step(place, client, ">", generated(rest[2:]))
    return Step(place, client, ">", generated(rest[1:]) + b"\n")


class Session:
    """One replay of one transcript."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.steps = steps_of(name, text)
        policies = [line[8:] for line in text.split("\n") if line.startswith("#policy ")]
        self.policy = policies[0] if policies else None
        self.peers: Dict[str, Peer] = {}
        self.silent: Set[str] = set()

    async def play(self, path: str) -> None:
        """Raises at the first difference."""
        try:
            for step in self.steps:
                await self._play(step, await self._peer(step, path))
            for client, peer in self.peers.items():
                if client not in self.silent:
                    await self._check_nothing_is_left(client, peer)
        finally:
            for peer in self.peers.values():
                await peer.close()

    async def _play(self, step: Step, peer: Peer) -> None:
        if isinstance(step.data, bytes):
            return peer.send(step.data)
        if step.mark in "<#":
            self._check(step, await peer.line())
            if step.mark == "#":
                peer.send(b"#< " + step.data.encode() + b"\n")
        elif step.mark == "|":
            peer.wire.finish()
            self.silent.add(step.client)
        elif step.mark == "!":
            await self.peers.pop(step.client).close()
        elif step.mark == ".":
            line = await peer.line()
            assert line is None, f"{step.place}: the broker should have closed, not said {line!r}"
            self.silent.add(step.client)

    async def _peer(self, step: Step, path: str) -> Peer:
        """The first mention of a client connects it, and reads its greeting unless that is shown."""
        if step.client not in self.peers:
            peer = self.peers[step.client] = await Peer.connect(path)
            if not (isinstance(step.data, str) and step.data.startswith('{"event":"hello"')):
                greeting = await peer.text()
                assert greeting.startswith('{"event":"hello",'), f"{step.place}: {greeting}"
        return self.peers[step.client]

    @staticmethod
    def _check(step: Step, line: Optional[bytes]) -> None:
        assert line is not None, f"{step.place}: the broker closed"
        assert isinstance(step.data, str)
        problem = mismatch(step.data, line)
        assert problem is None, f"{step.place}: {problem}\n  expected: {step.data}\n  got: {line[:2000]!r}"

    async def _check_nothing_is_left(self, client: str, peer: Peer) -> None:
        peer.send(b'{"op":"sync","id":"end of transcript"}\n')
        line = await peer.text()
        is_end = line.startswith('{"ok":"sync","id":"end of transcript",')
        assert is_end, f"{self.name}: nothing shows what {client} gets: {line[:2000]}"
