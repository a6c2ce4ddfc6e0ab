"""The Python client of Plugboard, a message bus for the programs of one machine.

    import asyncio, plugboard

    async def main() -> None:
        async with plugboard.connect(name="greeter") as bus:
            async for event in bus.subscribe("people.*").updates():
                await bus.publish(f"greetings.{event.value}", "hello")

    asyncio.run(main())

This file is all of it: it needs Python 3.9 or newer and nothing else, so a program may keep a copy.
`protocol/SPEC.md` says what each operation does. Scripts that don't use asyncio call `plugboard.open()`.

A `Bus` belongs to the event loop on which it was opened. If its connection breaks, it makes a new one.
Each subscription then gets an event `reconnected` and what it missed. Requests that were under way fail
with `Disconnected`, because nobody knows whether the broker did them. They are never sent twice.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import dataclasses
import datetime
import functools
import inspect
import itertools
import json
import logging
import math
import os
import pwd
import random
import re
import secrets
import selectors
import signal
import socket
import stat
import struct
import sys
import threading
import traceback
import weakref
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from types import TracebackType
from typing import (
    Any,
    Awaitable,
    Callable,
    Coroutine,
    Deque,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    Match,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
)

__version__ = "0.1.0"
__all__ = [
    "BadReply", "BadValue", "BlockingBus", "BlockingPipeline", "BlockingSubscription", "Bus", "BusError", "Call", "CallError",
    "Chain", "Closed", "Conflict", "Disconnected", "Entry", "Event", "Explanation", "Forked", "Greeting",
    "Listed", "NoBroker", "NotABroker", "NotFound", "Observer", "Observers", "OutboxFull", "Pipeline", "Raw", "Refused", "Server",
    "Serving", "Spare", "Step", "Subscription", "TimedOut", "UnreadFull", "Untrusted", "Write", "Writer", "connect",
    "matches", "merge", "open", "run", "standard_path",
]  # fmt: skip

PROTOCOL = 1
"""The version of the protocol that this file speaks."""

# The broker's limits are in its greeting (`Bus.greeting.limits`). These are the client's own.

LINE_BYTES_MAX = 1_048_576
"""A line to a broker that doesn't name its own limit."""
KEYS_PAGE = 10_000
"""The keys in a reply of a broker that doesn't name its own limit."""
READ_LINE_BYTES_MAX = 16_777_216
"""A line from the broker, which may have a value and the previous value."""
OUTBOX_BYTES_MAX = 16_777_216
"""Requests that wait to be written, because the broker doesn't read or there is no connection."""
BLOCK_BYTES_MAX = 262_144
"""Requests of a pipeline that are under way at the same time."""
UNREAD_BYTES_MAX = 67_108_864
"""Events that wait for one subscription's loop."""
EVENT_OVERHEAD_BYTES = 224
"""What an event takes up besides its line."""
CALLS_MAX = 1_024
"""Calls that this program answers at the same time."""
MESSAGE_CHARACTERS_MAX = 4_096
"""The text of an error with which this program answers a call."""
THREADS_MAX = 8
"""Threads in which the blocking twin answers calls."""
SECONDS_MAX = 9_007_199_254_740
"""The longest time in a request."""
PAUSE_SECONDS_FIRST = 0.1
"""The pause after the first failure to connect. It doubles with each further failure."""
PAUSE_SECONDS_MAX = 3.0
USUAL_SECONDS = 5.0
"""How long a request may take if nobody says otherwise."""
CALL_SECONDS_MAX = 3_600.0
"""The longest that the broker waits for the answer to a call."""
GOODBYE_SECONDS_MAX = 1.0
"""How long the end of `async with` waits for the broker, and before that for handlers of calls."""

# Text for people. Much of it comes from other programs, so nothing in it may control a terminal, or look
# like something else. These are the characters that the command spells out, too.

_INVISIBLE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def _shown(text: str) -> str:
    """The text with JSON escapes in place of characters that can't be seen, except tabs."""
    return _INVISIBLE.sub(_escape, text)


def _escape(match: Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[place] << 8 | units[place + 1]:04x}" for place in range(0, len(units), 2))


def _shown_lines(text: str) -> str:
    """The same for several lines of this program's own."""
    return "\n".join(map(_shown, text.split("\n")))


def _shown_traceback(
    kind: Type[BaseException], error: Optional[BaseException], trace: Optional[TracebackType]
) -> str:
    told = traceback.TracebackException(kind, cast(BaseException, error), trace)
    unseen: List[Any] = [told]
    while unseen:
        part = unseen.pop()
        if isinstance(getattr(part, "_str", None), str):
            # A line feed in an error's own text would look like a line of the traceback.
            part._str = _shown(part._str)
        more = [part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or ())]
        unseen += [next_part for next_part in more if next_part]
    return _shown_lines("".join(told.format()))


class _ShownRecords(logging.Filter):
    """Spells out what is logged, whichever handler writes it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _shown(str(part)) if isinstance(part, (str, BaseException)) else part for part in record.args
            )
        record.msg, record.args = _shown_lines(record.getMessage()), ()
        if isinstance(record.exc_info, tuple) and record.exc_info[0]:
            record.exc_text = _shown_traceback(*record.exc_info).rstrip("\n")
        return True


_SHOWN_RECORDS = _ShownRecords()
_log = logging.getLogger("plugboard")
_log.addFilter(_SHOWN_RECORDS)
_T = TypeVar("_T")
_Members = Dict[str, Any]


# Errors


class BusError(Exception):
    """Why a request, a subscription or the connection failed.

    `code` is the broker's or the server's. Errors of this library have codes of their own. `hint` says
    what to try, if anything is known. The other members are those of the error's line in the protocol.
    """

    code: str = "failed"

    def __init__(
        self,
        message: str,
        *,
        code: Optional[str] = None,
        hint: Optional[str] = None,
        by: Optional[str] = None,
        revision: Optional[int] = None,
        at: Optional[int] = None,
        write: Optional[int] = None,
    ) -> None:
        # Whatever it was given, such as another exception, it is told as a text.
        self.message = str(message)
        super().__init__(self.message)
        self.code = code or type(self).code
        self.hint = hint
        self.by = by
        self.revision = revision
        self.at = at
        self.write = write

    def __str__(self) -> str:
        """For people, and so without characters that can't be seen. `message` has them as they came."""
        return _shown(f"{self.code}: {self.message}" + (f" ({self.hint})" if self.hint else ""))


class Refused(BusError):
    """The broker, or the server of a call, refused the request. `by` names the server if it was one."""


class NotFound(Refused):
    """There is no such observable, call, service or client."""

    code = "not_found"


class Conflict(Refused):
    """The key isn't at the expected `revision`, or is served already."""

    code = "conflict"


class NoBroker(BusError):
    """Nobody answers at the socket."""

    code = "no_broker"


class Untrusted(BusError):
    """Another user runs the broker, or made the socket's folder. Nothing was sent."""

    code = "untrusted"


class NotABroker(BusError):
    """A program answers, but it isn't a broker that this library can talk to."""

    code = "not_a_broker"


class Disconnected(BusError):
    """The connection broke before the answer. The broker may or may not have done the request."""

    code = "disconnected"


class TimedOut(BusError):
    """No answer came in time. The broker may have done the request all the same."""

    code = "timed_out"


class Closed(BusError):
    """The bus was closed by its own program."""

    code = "closed"


class Forked(BusError):
    """This process was forked off the one that opened the bus. The connection is still that one's."""

    code = "forked"


class OutboxFull(BusError):
    """More than `OUTBOX_BYTES_MAX` bytes would wait to be written."""

    code = "outbox_full"


class UnreadFull(BusError):
    """A subscription was read too slowly: too many bytes of events waited."""

    code = "unread_full"


class BadValue(BusError):
    """The program passed something that can't be sent. Nothing was sent."""

    code = "bad_value"


class BadReply(BusError):
    """The broker's answer isn't what the protocol says."""

    code = "bad_reply"


class CallError(BusError):
    """Raise it in a handler of `serve`: the caller gets this code and message.

    The code has up to 64 of `a` to `z`, `0` to `9` and `_`, and begins with a letter.
    """

    def __init__(self, code: str, message: str) -> None:
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            raise BadValue(f"{code!r} is no code for an error", hint="such as unknown_product")
        super().__init__(message, code=code)


_CODE = re.compile("[a-z][a-z0-9_]{0,63}")
_REFUSALS: Dict[str, Type[Refused]] = {"not_found": NotFound, "conflict": Conflict}


def _refusal(members: _Members) -> Refused:
    code = _text(members, "error")
    return _REFUSALS.get(code, Refused)(
        _text_or_none(members, "message") or code,
        code=code,
        hint=_text_or_none(members, "hint"),
        by=_text_or_none(members, "by"),
        revision=_integer_or_none(members, "revision"),
        at=_integer_or_none(members, "at"),
        write=_integer_or_none(members, "write"),
    )


# Members of the broker's lines. Whatever a broken or hostile broker sends becomes a `BadReply`.


def _wrong(name: str, what: str) -> BadReply:
    return BadReply(f"the broker's {name!r} is no {what}")


def _text(members: _Members, name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise _wrong(name, "string")
    return value


def _text_or_none(members: _Members, name: str) -> Optional[str]:
    return None if members.get(name) is None else _text(members, name)


def _integer(members: _Members, name: str) -> int:
    value = members.get(name)
    if type(value) is not int:
        raise _wrong(name, "integer")
    return value


def _integer_or_none(members: _Members, name: str) -> Optional[int]:
    return None if members.get(name) is None else _integer(members, name)


def _objects(members: _Members, name: str) -> List[_Members]:
    value = members.get(name, [])
    if not isinstance(value, list) or not all(isinstance(element, dict) for element in value):
        raise _wrong(name, "array of objects")
    return value


def _object_or_none(members: _Members, name: str) -> Optional[_Members]:
    value = members.get(name)
    if value is not None and not isinstance(value, dict):
        raise _wrong(name, "object")
    return value


def _texts(members: _Members, name: str) -> Tuple[str, ...]:
    value = members.get(name, [])
    if not isinstance(value, list) or not all(isinstance(element, str) for element in value):
        raise _wrong(name, "array of strings")
    return tuple(value)


# JSON


@dataclass(frozen=True)
class Raw:
    """JSON text that is sent byte for byte, alone or inside a value: `Raw("1.10")` stays `1.10`."""

    text: str


class _Absent:
    """The default of arguments for which None means null, or nothing."""

    def __repr__(self) -> str:
        return "…"


_ABSENT: Any = _Absent()

# `json` can't write a text as it is. So a string stands in for it that nobody else can know.
_STAND_IN = secrets.token_hex(16)
_STAND_INS = re.compile(f'"{_STAND_IN}:([0-9]+)"')


def _no_constant(name: str) -> None:
    raise json.JSONDecodeError(f"{name} is no JSON", name, 0)


def _decimal(text: str) -> Union[Decimal, Raw]:
    """A number with all its digits: its text if the exponent is beyond those of decimals."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Raw(text)


_PLAIN = json.JSONDecoder(parse_constant=_no_constant)
_EXACT = json.JSONDecoder(parse_constant=_no_constant, parse_float=_decimal)
# For places only. Python refuses to make an integer of very many digits.
_PLACES = json.JSONDecoder(parse_constant=_no_constant, parse_float=str, parse_int=str)
_BLANK = re.compile("[ \t\r]*")


def _exact_text(value: Any) -> str:
    if isinstance(value, Raw):
        return _checked(value.text)
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _checked(text: str) -> str:
    """Refuses a text that would end the line, or would be more than one value."""
    try:
        _PLACES.decode(text)
    except RecursionError:
        raise BadValue("Raw has text that nests too deep", code="too_deep") from None
    except (TypeError, ValueError) as error:
        raise BadValue(f"Raw has text that is no JSON: {error}", code="bad_json") from None
    if "\n" in text:
        raise BadValue("Raw has a line break, which would end the request", code="bad_json")
    return text


class _NotPlain(Exception):
    """A value has a part that `json` doesn't know."""


def _not_plain(part: Any) -> Any:
    raise _NotPlain


def _encoder(default: Callable[[Any], Any]) -> Callable[[Any, int], Iterable[str]]:
    """Makes the compact JSON of a value, in pieces. `json` would make its fast encoder anew for each value."""
    encoder = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"), default=default
    )
    try:
        make = getattr(json.encoder, "c_make_encoder")
        quote = getattr(json.encoder, "encode_basestring")
        fast = make(None, default, quote, None, ":", ",", False, False, False)
        if "".join(fast({"a": [1]}, 0)) == '{"a":[1]}':
            return cast(Callable[[Any, int], Iterable[str]], fast)
    except (AttributeError, TypeError):
        pass  # Another Python than those that are known.
    return lambda value, _: (encoder.encode(value),)


_PIECES = _encoder(_not_plain)


def _encode(value: Any) -> bytes:
    """The compact JSON of a value. What `json` doesn't know is a `BadValue`."""
    try:
        return "".join(_PIECES(value, 0)).encode()
    except _NotPlain:
        return _encode_exactly(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_encoded(error) from None


def _encode_exactly(value: Any) -> bytes:
    """The same for a value with parts whose text is given."""
    texts: List[str] = []

    def stand_in(part: Any) -> str:
        texts.append(_exact_text(part))
        return f"{_STAND_IN}:{len(texts) - 1}"

    try:
        text = "".join(_encoder(stand_in)(value, 0))
        return _STAND_INS.sub(lambda match: texts[int(match[1])], text).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_encoded(error) from None


def _not_encoded(error: Exception) -> BadValue:
    return BadValue(f"the value can't be written as JSON: {error}")


def _long_integer(text: str) -> Any:
    """An integer, or a decimal if it has more digits than Python makes an integer of."""
    try:
        return int(text)
    except ValueError:
        return Decimal(text)


def _decode(line: bytes, decoder: json.JSONDecoder) -> _Members:
    """The members of a line from the broker."""
    try:
        text = line.decode()
        try:
            members = decoder.decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            long = json.JSONDecoder(
                parse_constant=_no_constant, parse_int=_long_integer, parse_float=decoder.parse_float
            )
            members = long.decode(text)
    except (ValueError, RecursionError):
        raise BadReply("the broker sent a line that isn't JSON") from None
    if not isinstance(members, dict) or not members:
        raise BadReply("the broker sent a line that is no object")
    return members


def _decode_all(lines: List[bytes], decoder: json.JSONDecoder) -> Iterable[_Members]:
    """The members of each line. Many lines at once take much less time than one by one."""
    if len(lines) > 1:
        try:
            found = decoder.decode(f"[{b','.join(lines).decode()}]")
            if len(found) == len(lines) and all(type(members) is dict and members for members in found):
                return cast(List[_Members], found)
        except (ValueError, RecursionError):
            pass  # One of them is broken. Those before it count.
    return (_decode(line, decoder) for line in lines)


def _member_text(line: bytes, wanted: str) -> Optional[str]:
    """The text of a member as it stands in the line. The line is JSON."""
    text = line.decode()
    place = text.index("{") + 1
    while True:
        name, place = _PLACES.raw_decode(text, _after_blank(text, place))
        place = _after_blank(text, _after_blank(text, place) + 1)
        _, end = _PLACES.raw_decode(text, place)
        if name == wanted:
            return text[place:end]
        place = _after_blank(text, end)
        if text[place] == "}":
            return None
        place += 1


def _after_blank(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    return match.end() if match else place


def merge(value: Any, patch: Any) -> Any:
    """The value with a merge patch (RFC 7396) applied. Neither is changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), part)
    return merged


def _copied(value: Any) -> Any:
    """A copy of what JSON may be. Changes of one don't touch the other."""
    if type(value) not in _CONTAINERS:
        return value
    # Each container is copied as a whole, so nothing is done for most parts, such as numbers and texts.
    copied = value.copy()
    for place, part in value.items() if type(value) is dict else enumerate(value):
        if type(part) in _CONTAINERS:
            copied[place] = _copied(part)
    return copied


_CONTAINERS = {dict, list}


# Keys and patterns


def matches(pattern: str, key: str) -> bool:
    """Whether a pattern matches a key. Both must be well-formed."""
    wanted, tokens = pattern.split("."), key.split(".")
    is_open = wanted[-1] == "**"
    if is_open:
        wanted.pop()
    if len(tokens) < len(wanted) or (len(tokens) > len(wanted) and not is_open):
        return False
    if any(token.startswith("$") for token in tokens[len(wanted) :]):
        return False
    return all(_fits(want, token) for want, token in zip(wanted, tokens))


def _fits(want: str, token: str) -> bool:
    return not token.startswith("$") if want == "*" else want == token


def _rank(pattern: str) -> List[int]:
    """Smaller for the pattern that is more specific: a token comes before `*`, and `*` before `**`."""
    return [{"*": 1, "**": 2}.get(token, 0) for token in pattern.split(".")]


# What the broker tells


@dataclass
class Greeting:
    """What the broker said when the connection began."""

    version: str
    epoch: str
    """The name of the life of the revision counter."""
    revision: int
    client: int
    """This connection's number."""
    name: Optional[str]
    """This connection's permanent name, if it is a plugin's."""
    limits: Dict[str, int]
    features: Tuple[str, ...]

    @staticmethod
    def _of(members: _Members) -> Greeting:
        limits = _object_or_none(members, "limits") or {}
        return Greeting(
            version=_text(members, "version"),
            epoch=_text(members, "epoch"),
            revision=_integer(members, "revision"),
            client=_integer(members, "client"),
            name=_text_or_none(members, "name"),
            limits={name: limit for name, limit in limits.items() if type(limit) is int},
            features=_texts(members, "features"),
        )


def _end(members: _Members) -> Tuple[bool, Optional[float]]:
    """What ends a value by itself: its writer's connection, and after how many seconds."""
    milliseconds = _integer_or_none(members, "ttl")
    return members.get("while") == "connected", None if milliseconds is None else milliseconds / 1000


@dataclass
class Event:
    """A change of a key, a value that isn't kept, or news about the subscription.

    `kind` is one of

    - `update`: the key has a new value. With `initial` it is the current one.
    - `delete`: the key is gone. With `initial` that happened while the connection was down.
    - `leave`: the value no longer matches `where`. With `initial` that happened while the connection was
      down, or the key was deleted then.
    - `emit`: a value that isn't kept.
    - `synced`: the snapshot is complete, and later events are live.
    - `lagged`: the broker dropped `dropped` events here, from the revisions `first` to `last`. With
      `delivery="all"` these may be the newest of their keys: subscribe anew with `since=event.first - 1`.
    - `trace`: a write, and what became of it for each of the `observers`. Or, if `op` is `call`, a call:
      its `outcome`, and its `server`.
    - `disconnected`: the connection broke. The bus makes a new one.
    - `reconnected`: there is a new connection. If `resumed`, what was missed follows, once. If not, all
      current values follow, marked `initial`. `epoch_changed` says that revisions count anew.
    """

    kind: str
    key: str = ""
    revision: int = 0
    value: Any = None
    """With `diff` it is the whole value, too. The program may change it."""
    old: Any = None
    """The previous value, if the subscription asked for it."""
    by: Optional[str] = None
    """The writer: a client's name, or `#` and its number."""
    cause: Optional[int] = None
    """The revision that the writer named as its cause."""
    reason: Optional[str] = None
    """Why the broker wrote for the writer: `disconnected`, `expired` or `will`."""
    initial: bool = False
    live: Optional[bool] = None
    """With `initial`: whether the writer's connection is still open."""
    origin: Optional[str] = None
    """Who wrote it first, if the writer passed it on and said so, such as `cart@hostB`."""
    when: Optional[str] = None
    """When the write was made, in UTC, such as `2026-11-21T13:05:00Z`, if the subscription asked for it."""
    skipped: int = 0
    """How many earlier updates were folded into this one."""
    while_connected: bool = False
    """Whether the value ends with its writer's connection."""
    ttl: Optional[float] = None
    """After how many seconds the value ends; None if it has no such time."""
    unacked: Tuple[str, ...] = ()
    """The observers of earlier phases that didn't acknowledge in time."""
    fields: Optional[Dict[str, Any]] = None
    """The parts that changed, by their pointers, if the subscription asked for `fields`."""
    gone: Tuple[str, ...] = ()
    """The pointers of parts that are gone."""
    patch: Optional[Dict[str, Any]] = None
    """With `diff`: the merge patch, if the broker sent one."""
    has_value: bool = False
    """Whether there is a value: None may also be null."""
    has_old: bool = False
    dropped: int = 0
    first: int = 0
    last: int = 0
    op: Optional[str] = None
    observers: Tuple[Observer, ...] = ()
    more: bool = False
    call: Optional[str] = None
    """The traced call, by the name in its event."""
    outcome: Optional[str] = None
    """What became of it: `asked`, `held`, `answered`, `failed` or `abandoned`."""
    code: Optional[str] = None
    """The code of the error that the caller got."""
    server: Optional[Tuple[int, str]] = None
    """The number and the name of the client that is to answer it."""
    microseconds: Optional[int] = None
    """How long the call took."""
    resumed: Optional[bool] = None
    epoch_changed: bool = False
    epoch: str = field(default="", repr=False)
    """The epoch of `revision`."""
    line: bytes = field(default=b"", repr=False, compare=False)
    """The broker's line; empty if the library made the event."""

    def __repr__(self) -> str:
        shown = (
            (part.name, getattr(self, part.name), part.default)
            for part in dataclasses.fields(self)
            if part.repr
        )
        told = [f"{name}={value!r}" for name, value, usual in shown if value != usual or name == "kind"]
        return f"Event({', '.join(told)})"

    @property
    def text(self) -> Optional[str]:
        """The value as JSON, byte for byte as its writer sent it; None if the line has none."""
        return _member_text(self.line, "value") if self.line else None

    @property
    def changes(self) -> bool:
        """Whether the event is a write or an emit that somebody made, and so can be a cause."""
        return self.kind in ("update", "emit") or self.kind in ("delete", "leave") and not self.initial

    @staticmethod
    def _of(kind: str, members: _Members, line: bytes, epoch: str) -> Event:
        event = Event.__new__(Event)
        # What the line doesn't have is as the class says. This is done for each event, so it is brief.
        state = event.__dict__
        for name, value in members.items():
            kinds = _ORDINARY.get(name)
            if kinds and type(value) in kinds:
                state[name] = value
            elif kinds and value is not None:
                raise _wrong(name, f"member of an event, but {type(value).__name__}")
        if "value" in members:
            state["value"], state["has_value"] = members["value"], True
        if "old" in members:
            state["old"], state["has_old"] = members["old"], True
        state["kind"], state["epoch"], state["line"] = kind, epoch, line
        if kind in _RARE or not _KNOWN.issuperset(members):
            event._add_rare(members)
        if not event.key and kind not in ("synced", "lagged") or "revision" not in state:
            raise _wrong("event", "event")
        return event

    def _add_rare(self, members: _Members) -> None:
        self.origin = _text_or_none(members, "origin")
        self.unacked, self.gone = _texts(members, "unacked"), _texts(members, "gone")
        self.while_connected, self.ttl = _end(members)
        self.fields, self.patch = _object_or_none(members, "fields"), _object_or_none(members, "patch")
        if self.kind == "lagged":
            self.dropped, self.first = _integer(members, "dropped"), _integer(members, "first")
            self.last = self.revision = _integer(members, "last")
        if self.kind == "trace":
            self.op, self.more = _text(members, "op"), bool(members.get("more"))
            self.observers = tuple(map(Observer._of, _objects(members, "observers")))
            for name in ("call", "outcome", "code"):
                setattr(self, name, _text_or_none(members, name))
            self.microseconds = _integer_or_none(members, "microseconds")
            server = _object_or_none(members, "server")
            if server is not None:
                self.server = _integer(server, "client"), _text(server, "name")


_RARE = {"lagged", "trace"}
_ORDINARY: Dict[str, Tuple[type, ...]] = {
    "key": (str,), "revision": (int,), "by": (str,), "cause": (int,), "reason": (str,), "initial": (bool,),
    "live": (bool,), "skipped": (int,), "when": (str,),
}  # fmt: skip
_KNOWN = {"event", "sub", "value", "old", *_ORDINARY}


@dataclass
class Entry:
    """A key's value, and what the bus knows about it."""

    key: str
    value: Any
    revision: int
    by: str
    cause: Optional[int]
    reason: Optional[str]
    live: bool
    """Whether the connection of the value's writer is still open."""
    while_connected: bool = False
    """Whether the value ends with that connection."""
    ttl: Optional[float] = None
    """After how many seconds the value ends; None if it has no such time."""
    origin: Optional[str] = None
    """Who wrote it first, if the writer passed it on and said so, such as `cart@hostB`."""
    when: Optional[str] = None
    """When it was written, in UTC, such as `2026-11-21T13:05:00Z`; None if the broker doesn't say."""
    line: bytes = field(default=b"", repr=False, compare=False)

    @property
    def text(self) -> str:
        """The value as JSON, byte for byte as its writer sent it."""
        return _member_text(self.line, "value") or "null"

    @staticmethod
    def _of(reply: _Reply) -> Entry:
        members = reply.members
        if "value" not in members:
            raise BadReply("the broker's reply has no value")
        return Entry(
            key=_text(members, "key"),
            value=members["value"],
            revision=_integer(members, "revision"),
            by=_text(members, "by"),
            cause=_integer_or_none(members, "cause"),
            reason=_text_or_none(members, "reason"),
            live=bool(members.get("live")),
            while_connected=_end(members)[0],
            ttl=_end(members)[1],
            origin=_text_or_none(members, "origin"),
            when=_text_or_none(members, "when"),
            line=reply.line,
        )


@dataclass
class Listed:
    """A key that exists, as `keys` lists it."""

    key: str
    revision: int
    live: bool
    while_connected: bool = False
    ttl: Optional[float] = None

    @staticmethod
    def _of(members: _Members) -> Listed:
        live = bool(members.get("live"))
        return Listed(_text(members, "key"), _integer(members, "revision"), live, *_end(members))


@dataclass
class Observer:
    """A client that observes a key. `who` fills in its state, `explain` and `trace` the `outcome`."""

    client: int
    name: str
    sub: Union[int, str, None] = None
    pid: Optional[int] = None
    pattern: Optional[str] = None
    phase: Optional[int] = None
    state: Optional[str] = None
    queued: Optional[int] = None
    owed: Optional[int] = None
    revision: Optional[int] = None
    outcome: Optional[str] = None
    microseconds: Optional[int] = None
    awaits: Optional[Dict[str, Any]] = None

    @staticmethod
    def _of(members: _Members) -> Observer:
        observer = Observer(_integer(members, "client"), _text(members, "name"))
        for name in ("pid", "phase", "queued", "owed", "revision", "microseconds"):
            setattr(observer, name, _integer_or_none(members, name))
        for name in ("pattern", "state", "outcome"):
            setattr(observer, name, _text_or_none(members, name))
        observer.sub, observer.awaits = members.get("sub"), _object_or_none(members, "awaits")
        return observer


@dataclass
class Writer:
    """The client that wrote a value. `client` is None if it isn't a client of this broker."""

    client: Optional[int]
    name: str
    live: bool
    revision: int
    origin: Optional[str] = None
    """Who wrote it first, if the writer passed it on and said so."""

    @staticmethod
    def _of(members: _Members) -> Writer:
        return Writer(
            _integer_or_none(members, "client"),
            _text(members, "name"),
            bool(members.get("live")),
            _integer(members, "revision"),
            _text_or_none(members, "origin"),
        )


@dataclass
class Server:
    """The client that answers the calls of a key, how many `calls` wait for its answer, and who takes over when it
    ends, the first one first."""

    client: int
    name: str
    pid: Optional[int]
    pattern: str
    calls: int
    spares: Tuple[Spare, ...] = ()

    @staticmethod
    def _of(members: _Members) -> Server:
        return Server(
            _integer(members, "client"),
            _text(members, "name"),
            _integer_or_none(members, "pid"),
            _text(members, "pattern"),
            _integer(members, "calls"),
            tuple(map(Spare._of, _objects(members, "spares"))),
        )


@dataclass
class Spare:
    """A client that stands in line, to take over from a server."""

    client: int
    name: str
    pid: Optional[int]

    @staticmethod
    def _of(members: _Members) -> Spare:
        return Spare(_integer(members, "client"), _text(members, "name"), _integer_or_none(members, "pid"))


@dataclass
class Observers:
    """Whom a write to a key would reach, who wrote its value, and who answers its calls."""

    key: str
    observers: Tuple[Observer, ...]
    more: bool
    writer: Optional[Writer]
    server: Optional[Server]

    @staticmethod
    def _of(members: _Members) -> Observers:
        writer, server = _object_or_none(members, "writer"), _object_or_none(members, "server")
        return Observers(
            key=_text(members, "key"),
            observers=tuple(map(Observer._of, _objects(members, "observers"))),
            more=bool(members.get("more")),
            writer=None if writer is None else Writer._of(writer),
            server=None if server is None else Server._of(server),
        )


@dataclass
class Step:
    """A write, an emit or a call in a chain of causes. What the broker has forgotten has no `op` and `when`."""

    key: str
    revision: int
    op: Optional[str]
    by: Optional[str]
    reason: Optional[str]
    when: Optional[str]
    cause: Optional[int]
    origin: Optional[str] = None
    """Who wrote it first, if the writer passed it on and said so."""

    @staticmethod
    def _of(members: _Members) -> Step:
        return Step(
            key=_text(members, "key"),
            revision=_integer(members, "revision"),
            op=_text_or_none(members, "op"),
            by=_text_or_none(members, "by"),
            reason=_text_or_none(members, "reason"),
            when=_text_or_none(members, "when"),
            cause=_integer_or_none(members, "cause"),
            origin=_text_or_none(members, "origin"),
        )


@dataclass
class Chain:
    """The writes that led to a value, the newest first."""

    key: str
    steps: Tuple[Step, ...]
    truncated: bool
    """Whether the chain goes on beyond what the broker remembers."""
    more: bool
    """Whether it goes on beyond `limit`."""

    @staticmethod
    def _of(members: _Members) -> Chain:
        steps = tuple(map(Step._of, _objects(members, "chain")))
        flags = bool(members.get("truncated")), bool(members.get("more"))
        return Chain(_text(members, "key"), steps, *flags)


@dataclass
class Explanation:
    """What a write would do. If the broker would refuse it, `refused` says why."""

    op: str
    key: str
    refused: Optional[Refused]
    effect: Optional[str]
    revision: Optional[int]
    value: Any
    observers: Tuple[Observer, ...]
    more: bool
    note: Optional[str]

    @staticmethod
    def _of(members: _Members) -> Explanation:
        refused = _object_or_none(members, "refused")
        return Explanation(
            op=_text(members, "op"),
            key=_text(members, "key"),
            refused=None if refused is None else _refusal(refused),
            effect=_text_or_none(members, "effect"),
            revision=_integer_or_none(members, "revision"),
            value=members.get("value"),
            observers=tuple(map(Observer._of, _objects(members, "observers"))),
            more=bool(members.get("more")),
            note=_text_or_none(members, "note"),
        )


@dataclass
class Call:
    """A call, as its server sees it."""

    key: str
    value: Any
    by: Optional[str]
    """The caller: a client's name, or `#` and its number."""
    cause: Optional[int]
    has_value: bool
    id: str = field(repr=False)
    revision: Optional[int] = None
    """The bus's revision when the call was sent, which writes in the handler name as their cause."""


# What a program sends


@dataclass
class Write:
    """A write for `batch`, `explain` and `will`: `Write.publish("lamp", True)`."""

    op: str
    key: str
    value: Any = _ABSENT
    if_revision: Optional[int] = None
    cause: Optional[int] = _ABSENT
    while_connected: bool = False
    ttl: Optional[float] = None
    field: Optional[str] = None
    origin: Optional[str] = None
    """Who wrote it first, for a program that passes on others' writes: at most 128 bytes."""

    @staticmethod
    def publish(
        key: str,
        value: Any,
        *,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        while_connected: bool = False,
        ttl: Optional[float] = None,
    ) -> Write:
        """Sets a value. With `while_connected` it ends with the connection, with `ttl` after that many
        seconds. `if_revision` 0 means: only if the key is absent."""
        return Write("publish", key, value, if_revision, cause, while_connected, ttl)

    @staticmethod
    def emit(key: str, value: Any, *, cause: Optional[int] = _ABSENT) -> Write:
        """Sends a value to the observers of a key, and keeps nothing."""
        return Write("emit", key, value, cause=cause)

    @staticmethod
    def patch(
        key: str,
        value: Any,
        *,
        field: Optional[str] = None,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
    ) -> Write:
        """Merges a patch (RFC 7396) into a value, or into the part that a JSON Pointer names."""
        return Write("patch", key, value, if_revision, cause, field=field)

    @staticmethod
    def add(
        key: str,
        number: Any,
        *,
        field: Optional[str] = None,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        while_connected: bool = False,
        ttl: Optional[float] = None,
    ) -> Write:
        """Adds to a number, or to the part of the value that a JSON Pointer names. What isn't there is 0."""
        return Write("add", key, number, if_revision, cause, while_connected, ttl, field)

    @staticmethod
    def delete(key: str, *, if_revision: Optional[int] = None, cause: Optional[int] = _ABSENT) -> Write:
        """Removes a key."""
        return Write("delete", key, _ABSENT, if_revision, cause)

    def _members(self, cause: Optional[int]) -> _Members:
        members: _Members = {"op": self.op, "key": self.key}
        if self.value is not _ABSENT:
            members["value"] = self.value
        if self.cause is not _ABSENT:
            cause = self.cause
        if cause is not None:
            members["cause"] = cause
        if self.if_revision is not None:
            members["if"] = self.if_revision
        if self.while_connected:
            members["while"] = "connected"
        if self.ttl is not None:
            members["ttl"] = _milliseconds("ttl", self.ttl)
        if self.field is not None:
            members["field"] = self.field
        if self.origin is not None:
            members["origin"] = self.origin
        return members


def _present(**members: Any) -> _Members:
    return {name: value for name, value in members.items() if value is not _ABSENT}


def _known(value: Any) -> Any:
    return _ABSENT if value is None else value


def _milliseconds(name: str, seconds: Optional[float]) -> Any:
    """Whole milliseconds, rounded up, so that a time isn't shorter than it was asked for. 0.07 is 70 of them,
    although its product with 1000 is a little more."""
    return _ABSENT if seconds is None else max(1, math.ceil(round(_seconds(name, seconds) * 1000, 6)))


def _seconds(name: str, seconds: float) -> float:
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= SECONDS_MAX:
        raise BadValue(f"{name} is {seconds!r}, not a number of seconds above 0")
    return seconds


def _usual_timeout() -> float:
    """The seconds in `PLUGBOARD_TIMEOUT`. Without it, and if it is no number of seconds, they are 5."""
    text = os.environ.get("PLUGBOARD_TIMEOUT", "")
    seconds = float(text) if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text) else USUAL_SECONDS
    return seconds if 0 < seconds <= SECONDS_MAX else USUAL_SECONDS


# The event that the running code handles. A write names it as its cause, unless it comes from another
# epoch, in which its revision would mean another write.


class _Cause(NamedTuple):
    epoch: str
    revision: int


_cause: contextvars.ContextVar[Optional[_Cause]] = contextvars.ContextVar("plugboard.cause", default=None)


# Where the bus is, and whose


def standard_path() -> str:
    """The socket's path: `PLUGBOARD_SOCKET`, or else the user's own place."""
    return os.environ.get("PLUGBOARD_SOCKET") or _own_path()


def _own_path() -> str:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return os.path.join(runtime, "plugboard/bus.sock")
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"plugboard-{os.getuid()}/bus.sock")


def _trusted(peer: Optional[str]) -> Set[int]:
    """The users whose broker is trusted: this user, root, and at most one more."""
    users = {os.getuid(), 0}
    name = peer or os.environ.get("PLUGBOARD_PEER")
    if name:
        try:
            users.add(pwd.getpwnam(name).pw_uid)
        except KeyError:
            if not name.isdecimal() or int(name) >= 2**32 - 1:
                raise Untrusted(f"there is no user {name!r}") from None
            users.add(int(name))
    return users


def _check_folder(path: str, trusted: Set[int]) -> None:
    """Refuses the folder of the standard place if others could have put a socket into it."""
    if path != _own_path():
        return
    folder = os.path.dirname(path)
    try:
        status = os.lstat(folder)
    except OSError:
        return  # Then there is no socket in it, and connecting says so.
    if status.st_uid not in trusted:
        raise Untrusted(f"the folder {folder} belongs to another user ({_user_name(status.st_uid)})")
    if not stat.S_ISDIR(status.st_mode):
        raise Untrusted(f"{folder} is no folder")
    if status.st_mode & 0o022:
        raise Untrusted(f"other users may write to the folder {folder}")


def _check_peer(connected: socket.socket, path: str, trusted: Set[int]) -> None:
    user = _peer_user(connected)
    if user not in trusted:
        raise Untrusted(f"the broker at {path} is another user's ({_user_name(user)})")


def _peer_user(connected: socket.socket) -> Optional[int]:
    if sys.platform == "linux":
        size = struct.calcsize("3i")
        return int(struct.unpack("3I", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])
    if sys.platform == "darwin":
        # LOCAL_PEERCRED of SOL_LOCAL gives a `struct xucred`, which begins with a version and the user.
        return int(struct.unpack("2I", connected.getsockopt(0, 1, 76)[:8])[1])
    return None


def _user_name(user: Optional[int]) -> str:
    try:
        return "unknown" if user is None else pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


# The connection: bytes to lines


class _Wire(asyncio.Protocol):
    """One connection. It cuts what comes into lines, and knows why it ended."""

    def __init__(self, take: Callable[[_Wire, List[bytes]], None]) -> None:
        self._take = take
        self._half = bytearray()
        self.lines = 0
        """How many were written."""
        self._transport: Optional[asyncio.Transport] = None
        self.reason: Optional[BusError] = None
        self.ended: asyncio.Future[BusError] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self.reason:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        end = data.rfind(b"\n")
        if end < 0:
            self._half += data
        else:
            whole = bytes(self._half) + data[:end] if self._half else data[:end]
            self._half = bytearray(data[end + 1 :])
            if self.reason is None:
                self._read(whole.split(b"\n"))
        if len(self._half) > READ_LINE_BYTES_MAX:
            self.fail(BadReply(f"the broker sent a line of more than {READ_LINE_BYTES_MAX} bytes"))

    def _read(self, lines: List[bytes]) -> None:
        try:
            self._take(self, lines)
        except BusError as error:
            self.fail(error)

    def connection_lost(self, error: Optional[Exception]) -> None:
        if not self.ended.done():
            text = str(error) if error else "the broker closed the connection"
            self.ended.set_result(self.reason or Disconnected(text))

    def fail(self, reason: BusError) -> None:
        """Ends the connection at once. Lines that have come but weren't read are lost."""
        if self.reason is None:
            self.reason = reason
        if self._transport:
            self._transport.abort()

    def write(self, data: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(data)

    def finish(self) -> None:
        """Ends the sending half."""
        if self._transport and not self._transport.is_closing():
            self._transport.write_eof()

    @property
    def unwritten(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport else 0


async def _connect(connection: socket.socket, path: str, seconds: float) -> None:
    """Waits while too many clients wait to be accepted. Meanwhile there is nothing that the loop could watch."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    pause = 0.001
    while True:
        try:
            return connection.connect(path)
        except BlockingIOError:
            if loop.time() >= deadline:
                raise TimeoutError(f"too many clients wait to be accepted, for {seconds:g} s") from None
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)


def _closed_place(path: str) -> Optional[str]:
    """What keeps this user from a socket: the first folder that it may not enter, or the socket itself."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        folder = "/".join(parts[:count]) or "/"
        if os.path.isdir(folder) and not os.access(folder, os.X_OK):
            return f"the folder {folder} belongs to {_user_name(os.stat(folder).st_uid)}, and this user may not enter it"
    if os.path.exists(path) and not os.access(path, os.W_OK):
        return f"the socket {path} belongs to {_user_name(os.stat(path).st_uid)}, and this user may not connect to it"
    return None


async def _dial(path: str, peer: Optional[str], wire: _Wire, seconds: float) -> None:
    """Connects. Nothing is sent to another user's broker, and nothing is read from it."""
    trusted = _trusted(peer)
    _check_folder(path, trusted)
    loop = asyncio.get_running_loop()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    _sockets.add(connection)
    try:
        connection.setblocking(False)
        await _connect(connection, path, seconds)
        _check_peer(connection, path, trusted)
        await loop.create_unix_connection(lambda: wire, sock=connection)
    except PermissionError as error:
        connection.close()
        raise NoBroker(_closed_place(path) or f"nobody answers at {path}: {error}") from None
    except (OSError, ValueError) as error:
        connection.close()
        raise NoBroker(f"nobody answers at {path}: {error}") from None
    except BaseException:
        connection.close()
        raise


# Requests


class _Reply(NamedTuple):
    members: _Members
    line: bytes


_Done = Callable[[Union[_Reply, BusError]], None]


class _Request:
    """A request, until its answer. `done` is called once, with the reply or the failure."""

    __slots__ = "number", "op", "line", "done", "is_own", "is_sent", "seconds", "deadline"

    lines = 1
    """How many lines it sends."""

    def __init__(self, number: int, op: str, line: bytes, done: _Done, is_own: bool) -> None:
        self.number = number
        self.op = op
        self.line = line
        self.done = done
        self.is_sent = False
        self.is_own = is_own
        """The bus itself asked. It concerns only this connection."""
        self.seconds = 0.0
        self.deadline = 0.0

    @property
    def numbers(self) -> Iterable[int]:
        """The numbers under which answers come."""
        return (self.number,)

    def answer(self, number: int, outcome: Union[_Reply, BusError]) -> None:
        self.done(outcome)


class _Block(_Request):
    """Many requests that go out as one. Each has its own answer; or none has, and a last one, `sync`, has."""

    def __init__(self, number: int, lines: List[bytes], parts: Mapping[int, str], done: _Done) -> None:
        super().__init__(number, "pipeline", b"".join(lines), done, False)
        self.lines = len(lines)
        self.first_line = 0
        """The number of its first line on the connection, when it is sent."""
        self._results: List[Any] = [_ABSENT] * (len(parts) or self.lines - 1)
        self._parts = list(parts.values())
        self._positions = dict(zip(parts, range(len(parts)))) or {number: -1}
        self._left = len(self._positions)

    @property
    def numbers(self) -> Iterable[int]:
        return self._positions

    def answer(self, number: int, outcome: Union[_Reply, BusError]) -> None:
        position = self._positions[number]
        if position >= 0:
            self._results[position] = self._result(self._parts[position], outcome)
            outcome = _NO_REPLY
        self._left -= 1
        if not self._left:
            self.done(outcome)

    @staticmethod
    def _result(part: str, outcome: Union[_Reply, BusError]) -> Any:
        if isinstance(outcome, BusError):
            return outcome
        result = outcome.members.get(part, _ABSENT)
        if result is _ABSENT or part == "revision" and type(result) is not int:
            return BadReply(f"the broker's reply has no {part}")
        return result

    def refuse(self, line: int, refusal: Refused) -> bool:
        """Takes the refusal of a line without an id, if it is one of these."""
        position = line - self.first_line
        if not 0 <= position < len(self._results):
            return False
        self._results[position] = refusal
        return True

    def ended(self, failure: Optional[BusError]) -> List[Any]:
        """The results, with the failure in place of those that haven't come."""
        return [failure if result is _ABSENT else result for result in self._results]


_NO_REPLY = _Reply({}, b"")


def _settle(future: asyncio.Future[_Reply], outcome: Union[_Reply, BusError]) -> None:
    if future.done():
        return
    if isinstance(outcome, BusError):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


# Subscriptions


class _Place:
    """Up to which revision a subscription knows everything, so that it resumes without gap or repeat.

    Revisions never decrease within a subscription, so everything before the newest one is known. The
    events of a batch share a revision, so the keys that came with the newest one are kept, too.
    """

    def __init__(self) -> None:
        self.revision: Optional[int] = None
        self.epoch = ""
        self._present_epoch = ""
        self._newest = 0
        self._keys: Set[str] = set()
        self._is_in_snapshot = False
        self._may_repeat = False
        self._counted: Set[str] = set()

    def begin(self, epoch: str, revision: int, resumed: bool, has_snapshot: bool) -> None:
        self._present_epoch = epoch
        self._is_in_snapshot = has_snapshot and not resumed
        self._may_repeat = resumed
        self._counted = set(self._keys) if resumed else set()
        if resumed:
            return
        self._newest, self._keys = 0 if has_snapshot else revision, set()
        if not has_snapshot:
            self.know(self._present_epoch, revision)

    def is_news(self, event: Event) -> bool:
        """Notes an event; False if it came already, before the connection broke."""
        if event.kind == "synced":
            self._finish(event.revision)
        elif event.kind == "emit":
            self._advance(event.revision)
        elif event.kind != "lagged":
            self._advance(event.revision)
            if self._may_repeat and event.revision == self._newest and event.key in self._keys:
                return False
            self._keys.add(event.key)
        if event.skipped and event.key in self._counted:
            # The broker counts a write that came before the connection broke.
            self._counted.discard(event.key)
            event.skipped -= 1
        return True

    def _advance(self, revision: int) -> None:
        if revision <= self._newest:
            return
        self._newest = revision
        self._keys.clear()
        self._may_repeat = False
        if not self._is_in_snapshot and self.revision is not None:
            self.revision = revision - 1

    def _finish(self, revision: int) -> None:
        # If `synced` has the revision of the line before, more lines of this revision may follow.
        is_all = revision > self._newest
        if is_all:
            self._newest, self._keys = revision, set()
        self._is_in_snapshot = self._may_repeat = False
        self.know(self._present_epoch, revision if is_all else max(self._newest, 1) - 1)

    def know(self, epoch: str, revision: int) -> None:
        """Everything up to this revision has come."""
        self.revision, self.epoch = revision, epoch


class _KnownKeys:
    """The keys whose observer believes that they exist, and with `diff` their values.

    If a new connection can't resume, a key that was known before and doesn't come again is gone.
    """

    def __init__(self, members: _Members) -> None:
        self._has_snapshot = members.get("initial", True)
        # Then the program knows keys from before, and wants to hear of all that are gone.
        self._knows_more = "since" in members
        self._has_diff = bool(members.get("diff"))
        self._fields: Sequence[str] = members.get("fields", ())
        self._missing_kind = "leave" if "where" in members else "delete"
        self._keys: Dict[str, Tuple[int, Any]] = {}
        self._connection = 0
        self._is_catching_up = False

    def begin(self, resumed: bool) -> None:
        self._is_catching_up = self._has_snapshot and not self._knows_more
        self._connection += 1
        self._knows_more = False
        if resumed:
            # Keys that don't come are unchanged.
            self._keys = {key: (self._connection, value) for key, (_, value) in self._keys.items()}
        elif not self._has_snapshot:
            self._keys.clear()

    def complete(self, event: Event) -> List[Event]:
        """The event with what is known, and before it the keys that turn out to be gone."""
        if event.kind == "update":
            self._note(event)
        elif event.kind in ("delete", "leave"):
            was_known = self._keys.pop(event.key, None) is not None
            # Otherwise the key came and went while the connection was down.
            return [event] if was_known or not self._is_catching_up else []
        elif event.kind == "synced":
            self._is_catching_up = False
            return [*self._missing(event), event]
        return [event]

    def _note(self, event: Event) -> None:
        known = self._keys.get(event.key)
        before: Any = known[1] if known else _ABSENT
        if event.patch is not None:
            if before is _ABSENT:
                raise BadReply(f"the broker sent a patch of {event.key}, which has no value here")
            event.value, event.has_value = merge(before, event.patch), True
        # The broker doesn't know what was known on another connection.
        if known and known[0] != self._connection and event.fields is not None:
            event.gone = tuple(pointer for pointer in self._fields if pointer not in event.fields)
        if self._has_diff or self._has_snapshot:
            # The program may change its value, and the next patch is one of the broker's.
            self._keys[event.key] = (self._connection, _copied(event.value) if self._has_diff else None)

    def _missing(self, synced: Event) -> List[Event]:
        missing = sorted(key for key, (seen, _) in self._keys.items() if seen != self._connection)
        for key in missing:
            del self._keys[key]
        return [
            Event(self._missing_kind, key, synced.revision, initial=True, epoch=synced.epoch)
            for key in missing
        ]


class _Feed:
    """A subscription or a trace, as the bus keeps it over all connections, and its unread events."""

    def __init__(self, sub: int, members: _Members, unread_bytes_max: int) -> None:
        self.sub = sub
        self.is_trace = members["op"] == "trace"
        self.acknowledges = bool(members.get("ack"))
        self.is_paused = False
        self.is_asked = False
        self.resumed: Optional[bool] = None
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._members = members
        self._place = _Place()
        self._known_keys = _KnownKeys(members)
        self._epoch = ""
        self._is_live = False
        self._unread: Deque[Event] = deque()
        self._unread_bytes = 0
        self._unread_bytes_max = unread_bytes_max
        self._readers: Deque[asyncio.Future[None]] = deque()
        self._is_ended = False
        self._failure: Optional[BusError] = None

    def request(self, greeting: Greeting) -> _Members:
        """What asks for it on a new connection: if possible, only for what was missed."""
        if self.is_trace or self._place.revision is None or "since" not in greeting.features:
            return self._members
        return {**self._members, "since": self._place.revision, "epoch": self._place.epoch}

    def begin(self, reply: _Members, greeting: Greeting) -> None:
        """The broker has accepted it. Its events follow."""
        resumed, revision = reply.get("resumed") is True, _integer(reply, "revision")
        has_snapshot = not self.is_trace and self._members.get("initial", True)
        if resumed and not self.started.done():
            self._place.know(greeting.epoch, self._members["since"])
        self._place.begin(greeting.epoch, revision, resumed, has_snapshot)
        self._known_keys.begin(resumed)
        if not self.started.done():
            self.resumed = reply.get("resumed")
        changed = self._epoch not in ("", greeting.epoch)
        self._epoch, self._is_live = greeting.epoch, True
        if self.started.done():
            self._add(
                Event(
                    "reconnected",
                    revision=revision,
                    resumed=resumed,
                    epoch_changed=changed,
                    epoch=self._epoch,
                )
            )
        else:
            self.started.set_result(None)

    def take(self, kind: str, members: _Members, line: bytes) -> None:
        event = Event._of(kind, members, line, self._epoch)
        if self.is_trace:
            self._add(event)
        elif self._place.is_news(event):
            for news in self._known_keys.complete(event):
                self._add(news)

    def broke(self) -> None:
        if self._is_live:
            self._is_live = False
            self._add(Event("disconnected", epoch=self._epoch))

    def _add(self, event: Event) -> None:
        if self._is_ended:
            return
        size = len(event.line) + EVENT_OVERHEAD_BYTES
        if self._unread and self._unread_bytes + size > self._unread_bytes_max:
            return self.end(UnreadFull(f"more than {self._unread_bytes_max} bytes of events wait to be read"))
        self._unread.append(event)
        self._unread_bytes += size
        self._wake()

    def _wake(self) -> None:
        while self._readers:
            reader = self._readers.popleft()
            if not reader.done():
                return reader.set_result(None)

    def end(self, failure: Optional[BusError]) -> None:
        """Accepts no more events. Readers still get those that wait, and then the failure."""
        if self._is_ended:
            return
        self._is_ended, self._failure = True, failure
        if not self.started.done():
            self.started.set_exception(failure or Closed("the subscription was closed"))
            self.started.exception()  # Perhaps nobody waits for it.
        for reader in self._readers:
            if not reader.done():
                reader.set_result(None)

    def forget(self) -> None:
        """Drops the events that wait."""
        self._unread.clear()
        self._unread_bytes = 0

    @property
    def is_ended(self) -> bool:
        return self._is_ended

    @property
    def is_full(self) -> bool:
        return isinstance(self._failure, UnreadFull)

    def begins_with(self, revision: int) -> bool:
        """Whether the next event is here already and has this revision."""
        return bool(self._unread) and self._unread[0].revision == revision

    async def next(self) -> Optional[Event]:
        """The next event; None at the end."""
        while not self._unread:
            if self._is_ended:
                if self._failure:
                    raise self._failure
                return None
            await self._arrival()
        event = self._unread.popleft()
        self._unread_bytes -= len(event.line) + EVENT_OVERHEAD_BYTES
        return event

    async def _arrival(self) -> None:
        reader = asyncio.get_running_loop().create_future()
        self._readers.append(reader)
        try:
            await reader
        except asyncio.CancelledError:
            if reader in self._readers:
                self._readers.remove(reader)
            if self._unread and not reader.cancelled():
                self._wake()  # It was woken and can't read, so another one should.
            raise


class Subscription:
    """The events of a subscription or a trace, in order.

        async for event in bus.subscribe("cart.**"):
            print(event.kind, event.key, event.value)

    It begins with the loop, or with `async with` or `await`: after those it is live. It ends when the
    loop's object is released, with `close()`, with `async with`, or with the bus. If a wait for an event
    times out or is cancelled, the next one goes on, also if the subscription hasn't begun yet. While the
    loop's body handles an event, writes name it as their `cause`.
    """

    def __init__(self, bus: Bus, feed: _Feed, whole: Optional[Subscription] = None) -> None:
        self._bus = bus
        self._feed = feed
        self._whole = whole
        """What this is a part of. It is kept, because the subscription ends with its last owner."""
        self._reader = self._cursor()

    @property
    def sub(self) -> int:
        """Its number, which `pause`, `step` and `resume` of other clients need. It never changes."""
        return self._feed.sub

    @property
    def resumed(self) -> Optional[bool]:
        """With `since`, when it is live: whether what was missed comes, and not all current values."""
        return self._feed.resumed

    def __aiter__(self) -> _Cursor:
        # What was read before the loop has been handled.
        self._reader.finish()
        return self._cursor(self)

    async def __anext__(self) -> Event:
        return await self._reader.__anext__()

    def _cursor(self, owner: Optional[Subscription] = None) -> _Cursor:
        return _Cursor(self._bus, self._feed, {"update"} if self._whole else None, owner)

    def updates(self) -> Subscription:
        """Only the events `update`: the current values, and then each new one."""
        return Subscription(self._bus, self._feed, self)

    def __await__(self) -> Generator[Any, None, Subscription]:
        return self._begin().__await__()

    async def __aenter__(self) -> Subscription:
        return await self._begin()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _begin(self) -> Subscription:
        try:
            await self._bus._begin_feed(self._feed)
        except (TimedOut, asyncio.CancelledError):
            # It was to be live from here on, or not at all. Who waits for an event may wait again.
            self._bus._end_feed(self._feed)
            raise
        return self

    async def close(self) -> None:
        """Ends it. The loop ends after the events that wait."""
        self._reader.forget_cause()
        self._bus._end_feed(self._feed)

    async def pause(self) -> int:
        """Holds it. Returns how many keys and lines the broker owes it."""
        owed = await self._bus.pause(self.sub)
        self._feed.is_paused = True
        return owed

    async def step(self, count: int = 1) -> int:
        """Lets single events through a pause."""
        return await self._bus.step(self.sub, count)

    async def resume(self) -> int:
        """Releases it."""
        self._feed.is_paused = False
        return await self._bus.resume(self.sub)

    async def ack(self, revision: int) -> int:
        """Acknowledges everything up to a revision. The loop does that by itself."""
        return await self._bus.ack(self.sub, revision)

    def __del__(self) -> None:
        if not self._whole:
            self._bus._abandon(self._feed)


class _Cursor:
    """One loop over a subscription."""

    def __init__(
        self, bus: Bus, feed: _Feed, kinds: Optional[Set[str]], owner: Optional[Subscription]
    ) -> None:
        self._bus = bus
        self._feed = feed
        self._kinds = kinds
        self._owner = owner
        self._outer: Optional[_Cause] = None
        self._cause: Optional[_Cause] = None
        self._event: Optional[Event] = None

    def __aiter__(self) -> _Cursor:
        return self

    async def __anext__(self) -> Event:
        self.forget_cause()
        event = await self._advance()
        if event is None:
            raise StopAsyncIteration
        self._name_cause(event)
        return event

    async def _advance(self) -> Optional[Event]:
        """The next event, after the last one is acknowledged; None at the end."""
        while True:
            self._acknowledge()
            await self._bus._begin_feed(self._feed)
            self._event = await self._feed.next()
            if not self._event or not self._kinds or self._event.kind in self._kinds:
                return self._event

    def _name_cause(self, event: Event) -> None:
        """The loop's body runs in the same context, so its writes see this cause."""
        self._outer = _cause.get()
        self._cause = _Cause(event.epoch, event.revision) if event.changes else None
        if self._cause:
            _cause.set(self._cause)

    def _acknowledge(self) -> None:
        event, self._event = self._event, None
        is_due = event and self._feed.acknowledges and event.kind in ("update", "delete", "leave")
        if event and is_due and not self._feed.begins_with(event.revision):
            self._bus._ack_quietly(self._feed.sub, event.revision)

    def finish(self) -> None:
        """The last event has been handled."""
        self._acknowledge()
        self.forget_cause()

    def forget_cause(self) -> None:
        if self._cause and _cause.get() is self._cause:
            _cause.set(self._outer)
        self._cause = None

    def __del__(self) -> None:
        # After `break`, what follows the loop has another cause.
        self.forget_cause()


# Serving

Handler = Callable[[Call], Any]
_H = TypeVar("_H", bound=Handler)


class Serving:
    """A key or pattern that this program serves, on this connection and on later ones.

    `is_spare`: it stands in line, because another client serves it.
    """

    def __init__(self, bus: Bus, pattern: str, spare: bool, serves: Optional[Callable[[], Any]]) -> None:
        self._bus = bus
        self.pattern = pattern
        self.is_awaited = False
        self.is_spare = False
        self._members: _Members = _present(key=pattern, spare=spare or _ABSENT)
        self._serves = serves
        self._handler: Optional[Handler] = None
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __call__(self, handler: _H) -> _H:
        """Begins to serve with this handler. As a decorator it leaves the function as it is."""
        if self._handler:
            raise BadValue(f"{self.pattern!r} has a handler already")
        self._handler = handler
        self._bus._serve(self)
        return handler

    def __await__(self) -> Generator[Any, None, Serving]:
        return self._begin().__await__()

    async def _begin(self) -> Serving:
        if not self._handler:
            raise BadValue(f"{self.pattern!r} has no handler", hint='@bus.serve("key") stands above one')
        self.is_awaited = True
        try:
            await self._bus._within(self._started, "serve")
        except (TimedOut, asyncio.CancelledError):
            self._bus._drop_serving(self)
            raise
        finally:
            # A refusal on a later connection is told as that of a handler for which nobody waits.
            self.is_awaited = False
        return self

    async def close(self) -> None:
        """Ends it. Calls that the broker sent before are still answered, also those that are on their way."""
        await self._bus._unserve(self)

    async def _answer(self, call: Call) -> Any:
        assert self._handler
        answer = self._handler(call)
        return await answer if inspect.isawaitable(answer) else answer

    def _begun(self, is_spare: bool) -> None:
        self.is_spare = is_spare
        _set(self._started)
        if self._serves and not is_spare:
            try:
                self._serves()
            except Exception:
                _log.exception("serves of %s failed", self.pattern)

    def _end(self, failure: BusError) -> None:
        if not self._started.done():
            self._started.set_exception(failure)
            self._started.exception()  # Perhaps nobody waits for it.


_HEALTH_STATES = ("well", "degraded", "down")
_HEALTH_MESSAGE_MAX = 1024
_HEALTH_COUNTS_MAX = 32


def _token(name: str) -> str:
    """A client's name as one token of a key."""
    plain = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in name.encode())


@dataclass
class _Announced:
    """A value that is published again on each connection."""

    write: Write
    revision: Optional[int] = None


class Announcement:
    """A value that this program announces, until `withdraw`."""

    def __init__(self, bus: Bus, announced: _Announced) -> None:
        self._bus = bus
        self._announced = announced

    async def withdraw(self) -> None:
        """Deletes the value, unless another client has written the key since."""
        await self._bus._withdraw(self._announced)


# Pipelines


class _Requests:
    """Requests that wait to be sent together. Each method is that of `Bus`, but has its result later."""

    def __init__(self, bus: Bus, answers: bool, timeout: Optional[float]) -> None:
        self._bus = bus
        self._answers = answers
        self._timeout = timeout
        self._lines: List[bytes] = []
        self._parts: List[Tuple[int, str]] = []
        """The number of each request, and the part of its answer that is the result."""
        self.results: List[Any] = []
        """The results of the last `send`, in order: what the method of `Bus` would have returned, or the
        error. Without answers, None instead of a result."""

    def __len__(self) -> int:
        return len(self._lines)

    def publish(
        self,
        key: str,
        value: Any,
        *,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        while_connected: bool = False,
        ttl: Optional[float] = None,
        durable: bool = False,
    ) -> None:
        """Sets a value."""
        self.write(Write("publish", key, value, if_revision, cause, while_connected, ttl), durable=durable)

    def emit(self, key: str, value: Any, *, cause: Optional[int] = _ABSENT) -> None:
        """Sends a value to the observers of a key, and keeps nothing."""
        self.write(Write("emit", key, value, cause=cause))

    def patch(
        self,
        key: str,
        value: Any,
        *,
        field: Optional[str] = None,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        durable: bool = False,
    ) -> None:
        """Merges a patch (RFC 7396) into a value, or into the part that a JSON Pointer names."""
        self.write(Write("patch", key, value, if_revision, cause, field=field), durable=durable)

    def add(
        self,
        key: str,
        number: Any,
        *,
        field: Optional[str] = None,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        while_connected: bool = False,
        ttl: Optional[float] = None,
        durable: bool = False,
    ) -> None:
        """Adds to a number. The result is the sum."""
        write = Write("add", key, number, if_revision, cause, while_connected, ttl, field)
        self.write(write, durable=durable)

    def delete(
        self,
        key: str,
        *,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        durable: bool = False,
    ) -> None:
        """Removes a key."""
        self.write(Write("delete", key, _ABSENT, if_revision, cause), durable=durable)

    def write(self, write: Write, *, durable: bool = False) -> None:
        """Makes one write."""
        members = write._members(self._bus._present_cause())
        if durable:
            members["durable"] = True
        self._note(members, "value" if write.op == "add" else "revision", durable)

    def batch(self, writes: Iterable[Write], *, durable: bool = False) -> None:
        """Makes all writes as one revision, or none."""
        named = [write._members(self._bus._present_cause()) for write in writes]
        members: _Members = {"op": "batch", "writes": named}
        if durable:
            members["durable"] = True
        self._note(members, "revision", durable)

    def get(self, key: str) -> None:
        """Reads the value of a key."""
        self._note({"op": "get", "key": key}, "value", True)

    def _note(self, members: _Members, part: str, needs_answer: bool) -> None:
        if self._answers:
            members["id"] = number = next(self._bus._numbers)
            self._lines.append(self._bus._line(members))
            self._parts.append((number, part))
        elif needs_answer:
            raise BadValue(
                f"this {members['op']} needs an answer", hint="bus.pipeline() without answers=False"
            )
        else:
            self._lines.append(self._bus._line(members))

    async def _send(self) -> List[Any]:
        lines, self._lines = self._lines, []
        parts, self._parts = self._parts, []
        self.results = []
        failure: Optional[BusError] = None
        place = 0
        while place < len(lines) and not failure:
            end = _block_end(lines, place)
            results, failure = await self._bus._deliver(
                lines[place:end], dict(parts[place:end]), self._timeout
            )
            self.results += results
            place = end
        # After a failure of the connection, the rest isn't sent.
        self.results += [failure] * (len(lines) - place)
        for result in self.results:
            if isinstance(result, BusError):
                raise result
        return self.results


def _block_end(lines: List[bytes], place: int) -> int:
    """How far the next block goes: at least one request, and otherwise `BLOCK_BYTES_MAX`."""
    size = 0
    for end in range(place, len(lines)):
        size += len(lines[end])
        if size > BLOCK_BYTES_MAX and end > place:
            return end
    return len(lines)


class Pipeline(_Requests):
    """Requests that go out together, without waiting for each other.

        async with bus.pipeline() as pipe:
            for number in range(500):
                pipe.publish(f"row.{number}", number)
        print(pipe.results)

    The end of `async with` sends them, as `send` does. They are carried out in order, and each by itself: if
    one is refused, the others count (`Bus.batch` makes all or none). If the body raises, nothing is sent.
    """

    async def __aenter__(self) -> Pipeline:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        if kind is None:
            await self.send()

    async def send(self) -> List[Any]:
        """Sends what waits, waits for the answers, and returns the `results`. If there are errors among them,
        it raises the first one."""
        return await self._send()


# The bus


class Bus:
    """A connection to the broker. `connect` makes it; `async with` or `await` opens it.

    The end of `async with` takes no more calls, gives those that have come a second for their answers, and says
    goodbye, so the broker doesn't make the will. If the body raised, it only closes the connection, and the broker
    makes the will.
    """

    def __init__(self, options: _Options) -> None:
        self._options = options
        self._path = options.path or standard_path()
        self._name = options.name
        self._decoder = _EXACT if options.exact else _PLAIN
        self._numbers = itertools.count(1)
        self._greeting: Optional[Greeting] = None
        self._is_joined = False
        self._is_leaving = False
        self._closed: Optional[BusError] = None
        self._wire: Optional[_Wire] = None
        self._pending: Dict[int, _Request] = {}
        self._outbox: Dict[int, _Request] = {}
        self._outbox_bytes = 0
        self._is_flushing = False
        self._watcher: Optional[asyncio.TimerHandle] = None
        self._next_deadline = math.inf
        self._heard = -math.inf
        """When something came from the broker last. Its greeting doesn't count."""
        self._feeds: Dict[int, _Feed] = {}
        self._servings: Dict[str, Serving] = {}
        self._ending: Set[Serving] = set()
        """What is served no more, until the broker says so: it may have sent calls before."""
        self._answering: Set[asyncio.Task[None]] = set()
        self._announced: List[_Announced] = []
        self._health: Optional[_Announced] = None
        self._will: Optional[Write] = None
        self._runner: Optional[asyncio.Task[None]] = None
        self._loop: asyncio.AbstractEventLoop
        self._opened: asyncio.Future[None]
        self._ended: asyncio.Future[None]

    # Opening and closing

    def __await__(self) -> Generator[Any, None, Bus]:
        return self._open().__await__()

    async def __aenter__(self) -> Bus:
        return await self._open()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            if kind is None:
                await self._finish_calls()
        finally:
            await self._leave(kind is None)

    async def _finish_calls(self) -> None:
        """Takes no more calls, and gives those that have come some time for their answers."""
        if not (self._is_joined and (self._servings or self._ending or self._answering)):
            return
        for serving in list(self._servings.values()):
            self._drop_serving(serving)
        end = self._loop.time() + GOODBYE_SECONDS_MAX
        try:
            await self.sync(timeout=GOODBYE_SECONDS_MAX)  # No more calls come after this.
            answering = self._answering - {_present_task()}
            if answering:
                await asyncio.wait(answering, timeout=max(0, end - self._loop.time()))
                await self.sync(timeout=GOODBYE_SECONDS_MAX)  # Without a goodbye, answers would be cut off.
        except BusError:
            pass  # Then the connection ended, and the callers know.

    async def _leave(self, in_order: bool) -> None:
        """With a grace there is no goodbye: the next program of this name goes on."""
        await (self.goodbye() if in_order and not self._options.grace else self.close())

    async def _open(self) -> Bus:
        if self._runner:
            raise BusError("a bus is opened once", code="opened_twice")
        self._loop = asyncio.get_running_loop()
        _buses.add(self)
        self._opened, self._ended = self._loop.create_future(), self._loop.create_future()
        self._runner = self._loop.create_task(self._run())
        try:
            await self._opened
        except BaseException:
            await self.close()
            raise
        return self

    async def goodbye(self) -> None:
        """Ends the connection in order: the broker forgets the will. Then the bus is closed."""
        self._is_leaving = True
        try:
            if self._is_joined:
                await self._request("goodbye", {}, GOODBYE_SECONDS_MAX)
        except BusError:
            pass  # Then the connection ended without it.
        finally:
            await self.close()

    async def close(self) -> None:
        """Ends the connection at once, with all requests (`Closed`) and loops. The broker makes the will."""
        self._close(None)
        if isinstance(self._closed, Forked):
            return  # What it would wait for happens in the other process.
        waiting: Set[asyncio.Future[Any]] = {*self._answering}
        if self._runner:
            waiting.add(self._runner)
        if self._wire and self._wire._transport:
            waiting.add(self._wire.ended)
        present = asyncio.current_task()
        if present:
            waiting.discard(present)
        if waiting:
            await asyncio.wait(waiting)

    async def forever(self) -> None:
        """Waits until the bus is closed. Raises why, unless its own program closed it."""
        if isinstance(self._closed, Closed):
            return
        self._check()
        await asyncio.wait({self._ended})
        self._ended.result()

    @property
    def path(self) -> str:
        """The broker's socket."""
        return self._path

    @property
    def greeting(self) -> Greeting:
        """What the broker said when the newest connection began."""
        if not self._greeting:
            raise BusError(
                "the bus isn't open", code="not_open", hint="async with plugboard.connect() as bus"
            )
        return self._greeting

    @property
    def connected(self) -> bool:
        """Whether there is a connection now."""
        return self._is_joined

    # Writing

    async def publish(
        self,
        key: str,
        value: Any,
        *,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        while_connected: bool = False,
        ttl: Optional[float] = None,
        durable: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Sets a value, and returns its revision. The options are those of `Write.publish`. With `durable`
        it waits until the write is on disk. `cause=None` names no cause."""
        write = Write("publish", key, value, if_revision, cause, while_connected, ttl)
        return _integer((await self._written(write, durable, timeout)).members, "revision")

    async def emit(
        self, key: str, value: Any, *, cause: Optional[int] = _ABSENT, timeout: Optional[float] = None
    ) -> int:
        """Sends a value to the observers of a key, and keeps nothing. Returns the bus's revision."""
        return await self.write(Write.emit(key, value, cause=cause), timeout=timeout)

    async def patch(
        self,
        key: str,
        value: Any,
        *,
        field: Optional[str] = None,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        durable: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Merges a patch (RFC 7396) into a value, or into the part that the JSON Pointer `field` names: in an
        array an element, or with `-` a new one. None removes a member or an element. Returns the revision."""
        write = Write("patch", key, value, if_revision, cause, field=field)
        return await self.write(write, durable=durable, timeout=timeout)

    async def add(
        self,
        key: str,
        number: Any,
        *,
        field: Optional[str] = None,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        while_connected: bool = False,
        ttl: Optional[float] = None,
        durable: bool = False,
        timeout: Optional[float] = None,
    ) -> Any:
        """Adds to a number, or to the part of the value that the JSON Pointer `field` names, in one step.
        What isn't there counts as 0. Returns the sum. The bus rounds nothing, and with `exact` this doesn't."""
        write = Write("add", key, number, if_revision, cause, while_connected, ttl, field)
        return (await self._written(write, durable, timeout)).members["value"]

    async def delete(
        self,
        key: str,
        *,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        durable: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Removes a key, and returns the revision. Raises `NotFound` if there is no such key."""
        write = Write("delete", key, _ABSENT, if_revision, cause)
        return await self.write(write, durable=durable, timeout=timeout)

    async def write(self, write: Write, *, durable: bool = False, timeout: Optional[float] = None) -> int:
        """Makes one write, and returns the revision."""
        return _integer((await self._written(write, durable, timeout)).members, "revision")

    def _written(self, write: Write, durable: bool, timeout: Optional[float]) -> Coroutine[Any, Any, _Reply]:
        members = write._members(self._present_cause())
        if durable:
            members["durable"] = True
        return self._request(write.op, members, timeout)

    async def batch(
        self, writes: Iterable[Write], *, durable: bool = False, timeout: Optional[float] = None
    ) -> int:
        """Makes all writes as one revision, or none. An error's `write` is the position of the faulty one."""
        members: _Members = {"writes": [write._members(self._present_cause()) for write in writes]}
        if durable:
            members["durable"] = True
        return _integer((await self._request("batch", members, timeout)).members, "revision")

    async def _deliver(
        self, lines: List[bytes], parts: Mapping[int, str], timeout: Optional[float]
    ) -> Tuple[List[Any], Optional[BusError]]:
        """Sends a block of requests. Returns their results, and why some have none."""
        self._check()
        seconds = self._options.request_timeout if timeout is None else _seconds("timeout", timeout)
        future: asyncio.Future[_Reply] = self._loop.create_future()
        number = next(iter(parts)) if parts else next(self._numbers)
        if not parts:
            lines.append(self._line({"op": "sync", "id": number}))
        block = _Block(number, lines, parts, functools.partial(_settle, future))
        try:
            self._put(block)
            await self._answered(block, future, seconds)
        except BusError as error:
            return block.ended(error), error
        return block.ended(None), None

    def pipeline(self, *, answers: bool = True, timeout: Optional[float] = None) -> Pipeline:
        """Collects requests that go out together. With `answers=False` the broker answers only those that it
        refuses, which costs least: there are no results then, but errors are still raised."""
        self._check()
        return Pipeline(self, answers, timeout)

    # Reading

    async def get(self, key: str, *, timeout: Optional[float] = None) -> Any:
        """The value of a key. Raises `NotFound` if there is none."""
        return (await self.entry(key, timeout=timeout)).value

    async def entry(self, key: str, *, timeout: Optional[float] = None) -> Entry:
        """The value of a key with its revision and writer. Raises `NotFound` if there is none."""
        return Entry._of(await self._request("get", {"key": key}, timeout))

    async def keys(
        self,
        pattern: str = "**",
        *,
        after: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Listed]:
        """The keys that match, in the order of their bytes, from `after` on. It asks for page after page,
        so the list doesn't show one moment."""
        if limit is not None and limit < 1:
            raise BadValue(f"limit is {limit!r}, not a number above 0")
        listed: List[Listed] = []
        while limit is None or len(listed) < limit:
            page = self.greeting.limits.get("page", KEYS_PAGE)
            size = page if limit is None else min(page, limit - len(listed))
            members = _present(key=pattern, after=_known(after), limit=size)
            reply = (await self._request("keys", members, timeout)).members
            found = [Listed._of(element) for element in _objects(reply, "keys")]
            listed += found
            if not found or not reply.get("more"):
                break
            if after is not None and found[-1].key.encode() <= after.encode():
                raise BadReply("the broker's pages of keys don't go on")
            after = found[-1].key
        return listed

    # Listening

    def subscribe(
        self,
        *patterns: str,
        initial: bool = True,
        old: bool = False,
        values: bool = True,
        when: bool = False,
        where: Union[Mapping[str, Mapping[str, Any]], Raw, None] = None,
        fields: Optional[Sequence[str]] = None,
        diff: bool = False,
        delivery: str = "latest",
        every: Optional[float] = None,
        phase: Optional[int] = None,
        ack: bool = False,
        since: Optional[int] = None,
        epoch: Optional[str] = None,
        unread_bytes_max: int = UNREAD_BYTES_MAX,
    ) -> Subscription:
        """A subscription to the keys that match, for `async for`, `async with` or `await`.

        - `initial`: begin with the current values, and `synced` after them.
        - `old`: events carry the previous value. `values=False`: only the keys.
        - `when`: events say when the write was made, to the second.
        - `where`: only values that meet these conditions, such as `{"/price": {"<": 100}}`.
        - `fields`: only these parts, by their JSON Pointers. `diff`: the broker sends only what changed.
        - `delivery="all"`: no update replaces another one. `every`: at most one update per key in that many
          seconds.
        - `phase`, `ack`: observers of later phases wait until the loop asks for the next event.
        - `since`, `epoch`: what was missed after that revision, if the broker still knows it. Take one less
          than the `revision` of the last event that was handled: others may share it.
        """
        defaults = {
            "initial": True,
            "old": False,
            "values": True,
            "when": False,
            "diff": False,
            "delivery": "latest",
            "ack": False,
        }
        given = {
            "initial": initial,
            "old": old,
            "values": values,
            "when": when,
            "diff": diff,
            "delivery": delivery,
            "ack": ack,
        }
        members = _present(
            where=_known(where),
            fields=_known(fields),
            every=_milliseconds("every", every),
            phase=_known(phase),
            since=_known(since),
            epoch=_known(epoch),
            **{name: value for name, value in given.items() if value != defaults[name]},
        )
        return self._subscription("subscribe", patterns, members, unread_bytes_max)

    def trace(self, *patterns: str, unread_bytes_max: int = UNREAD_BYTES_MAX) -> Subscription:
        """Events `trace`: for each write to a matching key what became of it for each observer."""
        return self._subscription("trace", patterns, {}, unread_bytes_max)

    def _subscription(
        self, op: str, patterns: Tuple[str, ...], members: _Members, unread_bytes_max: int
    ) -> Subscription:
        self._check()
        if not patterns:
            raise BadValue(f"{op} needs a pattern", hint="such as **")
        sub = next(self._numbers)
        members = {"op": op, "keys": patterns, "sub": sub, **members}
        _encode(members)  # A mistake is told here, and not when a connection begins.
        return Subscription(self, _Feed(sub, members, unread_bytes_max))

    async def pause(self, sub: Union[int, str], *, client: Optional[int] = None) -> int:
        """Holds a subscription, perhaps another client's. Returns how many keys and lines are owed to it."""
        return await self._control("pause", _present(sub=sub, client=_known(client)))

    async def step(self, sub: Union[int, str], count: int = 1, *, client: Optional[int] = None) -> int:
        """Lets that many of the owed lines through a pause. Returns how many were owed before."""
        return await self._control("step", _present(sub=sub, count=count, client=_known(client)))

    async def resume(self, sub: Union[int, str], *, client: Optional[int] = None) -> int:
        """Releases a subscription. Returns how many keys and lines now come."""
        return await self._control("resume", _present(sub=sub, client=_known(client)))

    async def disconnect(self, client: int, *, timeout: Optional[float] = None) -> int:
        """Ends the connection of a client, which learns who did that. Returns the revision after what the
        client had left to be done."""
        return _integer((await self._request("disconnect", {"client": client}, timeout)).members, "revision")

    async def _control(self, op: str, members: _Members) -> int:
        return _integer((await self._request(op, members, None)).members, "owed")

    async def ack(self, sub: Union[int, str], revision: int) -> int:
        """Acknowledges everything up to a revision. Loops over a subscription do that by themselves."""
        reply = await self._request("ack", {"sub": sub, "revision": revision}, None)
        return _integer(reply.members, "revision")

    # Calling and serving

    async def call(
        self,
        key: str,
        value: Any = _ABSENT,
        *,
        timeout: Optional[float] = None,
        cause: Optional[int] = _ABSENT,
    ) -> Any:
        """Asks the client that serves the key, and returns its answer. Raises `Refused` with the server's
        code, or with `no_provider`, `provider_gone` or `timeout`."""
        cause = self._present_cause() if cause is _ABSENT else cause
        limit = min(self._options.request_timeout, CALL_SECONDS_MAX) if timeout is None else timeout
        members = _present(key=key, value=value, timeout=_milliseconds("timeout", limit), cause=_known(cause))
        # The broker ends a call in time, so the client only watches over the broker.
        reply = (await self._request("call", members, limit + self._options.request_timeout)).members
        if "value" not in reply:
            raise BadReply("the broker's reply has no value")
        return reply["value"]

    def serve(
        self,
        pattern: str,
        handler: Optional[Handler] = None,
        *,
        spare: bool = False,
        serves: Optional[Callable[[], Any]] = None,
    ) -> Serving:
        """Answers the calls of a key, or of all keys that match.

            @bus.serve("cart.add")
            async def add(call: plugboard.Call) -> object:
                return {"items": 1}

        What the handler returns is the answer. `CallError` gives the caller a code. Any other exception is
        logged, and the caller gets `failed`. An answer that can't be sent is logged, too, and the caller gets
        `limit` if it is too long, and otherwise `failed`. `await bus.serve(key, handler)` waits until the broker
        has accepted it. If the broker refuses a decorated handler, or any handler on a later connection, that
        is logged, and `forever` raises the error.

        With `spare=True`, this program stands in line if another one serves the key, and takes over when that one
        ends. `serves` is called when this program begins to serve: at once, when it takes over, or on a new connection.
        An exception in it is logged.
        """
        self._check()
        _encode(pattern)  # As in a subscription.
        serving = Serving(self, pattern, spare, serves)
        if handler:
            serving(handler)
        return serving

    # Finding out

    async def who(self, key: str, *, timeout: Optional[float] = None) -> Observers:
        """The observers of a key and their states, its writer, and its server."""
        return Observers._of((await self._request("who", {"key": key}, timeout)).members)

    async def why(self, key: str, *, limit: Optional[int] = None, timeout: Optional[float] = None) -> Chain:
        """The chain of writes that led to a value."""
        members = _present(key=key, limit=_known(limit))
        return Chain._of((await self._request("why", members, timeout)).members)

    async def explain(self, write: Write, *, timeout: Optional[float] = None) -> Explanation:
        """What a write would do, without making it."""
        members = {"write": write._members(self._present_cause())}
        return Explanation._of((await self._request("explain", members, timeout)).members)

    # The rest

    async def hello(self, name: str, *, timeout: Optional[float] = None) -> None:
        """Names this client, now and on later connections. What it has told of its health moves along."""
        await self._request("hello", self._present_name(name), timeout)
        self._name = name
        if self._health in self._announced:
            await self._tell_health(self._health.write.value, timeout)

    def _present_name(self, name: str) -> _Members:
        """The name, with the grace if this broker knows that."""
        knows = self._greeting is None or "grace" in self._greeting.features
        return _present(name=name, grace=_known(self._options.grace if knows else None))

    async def will(self, write: Optional[Write], *, timeout: Optional[float] = None) -> None:
        """Gives the broker a write that it makes if this connection ends without goodbye. None takes it
        back. The bus sets it again on each new connection."""
        members = {"write": write._members(self._present_cause())} if write else {}
        await self._request("will", members, timeout)
        self._will = dataclasses.replace(write, cause=None) if write else None

    async def announce(self, key: str, value: Any, *, timeout: Optional[float] = None) -> Announcement:
        """Publishes a value that ends with the connection, and publishes it again on each new one."""
        write = Write("publish", key, value, cause=None, while_connected=True)
        announced = _Announced(write, await self.write(write, timeout=timeout))
        self._announced.append(announced)
        return Announcement(self, announced)

    async def health(
        self,
        state: str,
        message: Optional[str] = None,
        *,
        counts: Optional[Mapping[str, int]] = None,
        timeout: Optional[float] = None,
    ) -> None:
        """Tells at `NAME.health` how this program is: "well", "degraded" or "down". `plugboard status`,
        `metrics` and the dashboard show it. It ends with the connection, and the bus publishes it again on
        each new one. The same once more sends nothing, and `since` changes only with the state. Of the message,
        1,024 bytes are told. The counts are whole numbers, and at most 32."""
        if state not in _HEALTH_STATES:
            raise BadValue(f"a program is one of {', '.join(_HEALTH_STATES)}, not {state!r}")
        before = self._health.write.value if self._health else {}
        value: Dict[str, Any] = {"state": state, "since": before.get("since")}
        if before.get("state") != state:
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            value["since"] = now.replace("+00:00", "Z")
        if message is not None:
            if not isinstance(message, str):
                raise BadValue(f"a message is a text, not {message!r}")
            _encode(message)  # Before it is cut, because only a text that can be sent has bytes.
            value["message"] = message.encode()[:_HEALTH_MESSAGE_MAX].decode(errors="ignore")
        if counts:
            if len(counts) > _HEALTH_COUNTS_MAX or any(type(count) is not int for count in counts.values()):
                raise BadValue(f"counts are whole numbers, and at most {_HEALTH_COUNTS_MAX}")
            value["counts"] = dict(counts)
        await self._tell_health(value, timeout)

    async def _tell_health(self, value: Dict[str, Any], timeout: Optional[float]) -> None:
        """Publishes it under the present name, and deletes what is there under an earlier one."""
        name = (self._greeting and self._greeting.name) or self._name
        if not name:
            raise BadValue("a program without a name has no health")
        write = Write("publish", _token(name) + ".health", value, cause=None, while_connected=True)
        if self._health and self._health.write == write:
            return
        announced = _Announced(write, await self.write(write, timeout=timeout))
        before, self._health = self._health, announced
        self._announced.append(announced)
        if before and before.write.key != write.key:
            await self._withdraw(before)
        elif before in self._announced:
            self._announced.remove(before)

    async def sync(self, *, timeout: Optional[float] = None) -> int:
        """Waits for everything that earlier requests caused for this client. Returns the revision.

        An event that is held, by a pause, by `every` or for an earlier phase, may come later. So the revision
        is not one for `since`."""
        return _integer((await self._request("sync", {}, timeout)).members, "revision")

    async def help(self, about: Optional[str] = None, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """The broker's help, for a person."""
        return (await self._request("help", _present(about=_known(about)), timeout)).members

    # Requests

    def _check(self) -> None:
        if self._closed:
            raise _again(self._closed)
        if not self._runner:
            raise BusError(
                "the bus isn't open", code="not_open", hint="async with plugboard.connect() as bus"
            )
        if asyncio.get_running_loop() is not self._loop:
            raise BusError("the bus belongs to another event loop", code="wrong_loop")

    def _present_cause(self) -> Optional[int]:
        cause = _cause.get()
        if cause and self._greeting and cause.epoch == self._greeting.epoch:
            return cause.revision
        return None

    async def _request(self, op: str, members: _Members, timeout: Optional[float]) -> _Reply:
        self._check()
        seconds = self._options.request_timeout if timeout is None else _seconds("timeout", timeout)
        future: asyncio.Future[_Reply] = self._loop.create_future()
        request = self._submit(op, members, functools.partial(_settle, future))
        return await self._answered(request, future, seconds)

    async def _answered(self, request: _Request, future: asyncio.Future[_Reply], seconds: float) -> _Reply:
        self._watch(request, seconds)
        try:
            return await future
        except BaseException:
            self._forget(request)
            if future.done() and not future.cancelled():
                future.exception()  # Its task was cancelled at the same time.
            raise

    def _submit(
        self,
        op: str,
        members: _Members,
        done: _Done,
        is_own: bool = False,
    ) -> _Request:
        number = next(self._numbers)
        request = _Request(number, op, self._line({"op": op, "id": number, **members}), done, is_own)
        self._put(request)
        return request

    def _line(self, members: _Members) -> bytes:
        line = _encode(members)
        limit = self._greeting.limits.get("line", LINE_BYTES_MAX) if self._greeting else LINE_BYTES_MAX
        if len(line) > limit:
            raise BadValue(f"the request has {len(line)} bytes, more than {limit}", code="too_long")
        return line + b"\n"

    def _put(self, request: _Request) -> None:
        """Into the outbox."""
        size = len(request.line)
        unwritten = self._outbox_bytes + (self._wire.unwritten if self._wire else 0)
        if unwritten + size > OUTBOX_BYTES_MAX and not request.is_own:
            raise OutboxFull(f"more than {OUTBOX_BYTES_MAX} bytes would wait to be written")
        is_alone = not self._pending
        for number in request.numbers:
            self._pending[number] = request
        self._outbox[request.number] = request
        self._outbox_bytes += size
        if self._is_flushing:
            return
        if is_alone:
            return self._flush()
        # What is written in one turn of the loop goes out together.
        self._is_flushing = True
        self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        if not self._is_joined or not self._wire or not self._outbox:
            return
        requests = list(self._outbox.values())
        self._outbox, self._outbox_bytes = {}, 0
        for request in requests:
            request.is_sent = True
            if isinstance(request, _Block):
                request.first_line = self._wire.lines + 1
            self._wire.lines += request.lines
        self._wire.write(b"".join(request.line for request in requests))

    def _forget(self, request: _Request) -> None:
        for number in request.numbers:
            self._pending.pop(number, None)
        if self._outbox.pop(request.number, None):
            self._outbox_bytes -= len(request.line)

    def _unanswered(self) -> List[_Request]:
        return list(dict.fromkeys(self._pending.values()))

    def _watch(self, request: _Request, seconds: float) -> None:
        """One timer watches over all requests, for the next one that may come too late."""
        request.seconds = seconds
        request.deadline = self._loop.time() + seconds
        if request.deadline < self._next_deadline:
            self._watch_until(request.deadline)

    def _watch_until(self, deadline: float) -> None:
        if self._watcher:
            self._watcher.cancel()
        self._next_deadline = deadline
        self._watcher = None if deadline == math.inf else self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        # The loop may be early by what its clock can't tell apart.
        present = max(self._loop.time(), self._next_deadline)
        for request in self._unanswered():
            # Answers keep their place. So they come after the values of an earlier subscription, however many
            # there are, and only a silent broker is late.
            if request.is_own:
                request.deadline = max(request.deadline, self._heard + request.seconds)
        waiting = sorted(self._unanswered(), key=lambda request: request.deadline)
        self._watch_until(
            min((request.deadline for request in waiting if request.deadline > present), default=math.inf)
        )
        for request in waiting:
            if request.deadline <= present:
                self._forget(request)
                request.done(TimedOut(f"{request.op}: no answer within {request.seconds:g} s"))
                if request.is_own and self._wire:
                    self._wire.fail(Disconnected(f"the broker didn't answer {request.op!r} in time"))

    def _ask(self, op: str, members: _Members, done: _Done) -> None:
        """A request of the bus itself. It concerns only this connection."""
        self._watch(self._submit(op, members, done, is_own=True), self._options.connect_timeout)

    async def _within(self, done: asyncio.Future[None], op: str) -> None:
        """Waits for a future that others may wait for, too. As in `_expire`, only a silent broker is late."""
        begin, seconds = self._loop.time(), self._options.request_timeout
        while not done.done():
            left = max(begin, self._heard) + seconds - self._loop.time()
            if left <= 0:
                raise TimedOut(f"{op}: no answer within {seconds:g} s")
            await asyncio.wait({done}, timeout=left)
        done.result()

    # Connections

    async def _run(self) -> None:
        try:
            await asyncio.sleep(0)  # A loop may begin tasks at once, before `_open` has noted this one.
            await self._keep()
        except asyncio.CancelledError:
            self._close(None)
            raise
        except Exception as error:
            _log.exception("the bus failed")
            self._close(BusError(f"the bus failed: {error!r}"))

    async def _keep(self) -> None:
        """One connection after the other, until the bus is closed."""
        deadline = self._loop.time() + self._options.wait
        failures = 0
        while not self._closed:
            reason = await self._converse()
            failures = 0 if self._is_joined else failures + 1
            if self._is_over(reason, deadline):
                return self._close(None if self._is_leaving else reason)
            self._broke(reason)
            pause = min(PAUSE_SECONDS_FIRST * 2 ** min(failures, 16), PAUSE_SECONDS_MAX)
            pause *= random.uniform(0.5, 1)
            if not self._opened.done():
                pause = min(pause, max(0, deadline - self._loop.time()))
            await asyncio.sleep(pause)

    def _is_over(self, reason: BusError, deadline: float) -> bool:
        if self._is_leaving:
            return True
        if self._opened.done():
            return not self._options.reconnect
        return not isinstance(reason, (NoBroker, Disconnected)) or self._loop.time() >= deadline

    async def _converse(self) -> BusError:
        """One connection. Returns why it ended."""
        wire = _Wire(self._take_lines)
        timer = self._loop.call_later(self._options.connect_timeout, self._miss_greeting, wire)
        try:
            await _dial(self._path, self._options.peer, wire, self._options.connect_timeout)
            self._wire = wire
            reason = await wire.ended
        except BusError as error:
            reason = error
        finally:
            timer.cancel()
            wire.fail(Closed("the bus was closed"))
        if isinstance(reason, BadReply) and not self._is_joined:
            return NotABroker(reason.message)
        return reason

    def _miss_greeting(self, wire: _Wire) -> None:
        if not self._is_joined:
            wire.fail(NotABroker("nobody greeted in time"))

    def _take_lines(self, wire: _Wire, lines: List[bytes]) -> None:
        if self._is_joined:
            self._heard = self._loop.time()
        for members, line in zip(_decode_all(lines, self._decoder), lines):
            if wire.reason:
                return
            self._take(members, line)

    def _take(self, members: _Members, line: bytes) -> None:
        """One line from the broker."""
        first = next(iter(members))
        if not self._is_joined:
            self._greet(members if first == "event" else {})
        elif first == "event":
            self._take_event(members, line)
        elif first == "ok":
            self._take_reply(members.get("id"), _Reply(members, line))
        elif first == "error":
            number = members.get("id")
            if number is None:
                self._take_complaint(members.get("line"), _refusal(members))
            else:
                self._take_reply(number, _refusal(members))

    def _greet(self, members: _Members) -> None:
        if members.get("event") == "bye":
            raise self._farewell(members)
        if members.get("event") != "hello":
            raise NotABroker(f"whoever answers at {self._path} doesn't greet as a broker")
        if members.get("protocol") != PROTOCOL:
            raise NotABroker(f"the broker speaks protocol {members.get('protocol')}, not {PROTOCOL}")
        self._join(Greeting._of(members))

    @staticmethod
    def _farewell(members: _Members) -> Disconnected:
        reason = _text_or_none(members, "reason") or "no reason"
        return Disconnected(f"the broker said bye, {reason}: {_text_or_none(members, 'message')}")

    def _join(self, greeting: Greeting) -> None:
        """Sets everything up again, before requests that wait for a connection."""
        self._greeting, self._is_joined = greeting, True
        waiting, self._outbox = self._outbox, {}
        # A supervisor has named this plugin, and it can't have another name.
        name = self._name if greeting.name is None else greeting.name if self._options.grace else None
        if name is not None:
            self._ask("hello", self._present_name(name), self._named)
        else:
            _set(self._opened)
        for feed in list(self._feeds.values()):
            self._ask_feed(feed)
        if self._will:
            self._ask("will", {"write": self._will._members(None)}, self._complaint("will"))
        for announced in self._announced:
            self._announce_again(announced)
        for serving in list(self._servings.values()):
            self._ask_serving(serving)
        self._outbox.update(waiting)
        self._flush()

    def _named(self, outcome: Union[_Reply, BusError]) -> None:
        if self._opened.done():
            return self._complaint("hello")(outcome)
        if isinstance(outcome, _Reply):
            self._opened.set_result(None)
        elif isinstance(outcome, Refused):
            self._close(outcome)

    @staticmethod
    def _complaint(what: str) -> _Done:
        """Logs a refusal for which nobody waits."""

        def done(outcome: Union[_Reply, BusError]) -> None:
            if isinstance(outcome, Refused):
                _log.warning("%s: %s", what, outcome)

        return done

    def _take_reply(self, number: Any, outcome: Union[_Reply, BusError]) -> None:
        request = self._pending.get(number) if type(number) is int else None
        if request and request.is_sent:
            del self._pending[number]
            request.answer(number, outcome)

    def _take_complaint(self, line: Any, refusal: Refused) -> None:
        for request in self._unanswered():
            if isinstance(request, _Block) and type(line) is int and request.refuse(line, refusal):
                return
        _log.warning("the broker refused a line: %s", refusal)

    def _take_event(self, members: _Members, line: bytes) -> None:
        kind = _text(members, "event")
        if kind == "call":
            return self._called(members)
        if kind == "serving":
            taken = self._servings.get(_text(members, "key"))
            return taken._begun(False) if taken else None
        if kind == "bye":
            raise self._farewell(members)
        number = members.get("sub")
        feed = self._feeds.get(number) if type(number) is int else None
        if feed and kind in _KINDS:
            feed.take(kind, members, line)
            if feed.is_ended:
                self._end_feed(feed)

    def _broke(self, reason: BusError) -> None:
        """The connection has ended. Requests that weren't sent wait for the next one."""
        was_joined, self._is_joined, self._wire = self._is_joined, False, None
        for request in self._unanswered():
            if request.is_sent or request.is_own:
                self._forget(request)
                request.done(Disconnected(reason.message))
        if was_joined:
            _log.info("disconnected: %s", reason.message)
            for feed in self._feeds.values():
                feed.broke()
        elif not isinstance(reason, NoBroker):
            _log.warning("%s", reason)

    def _close(self, reason: Optional[BusError]) -> None:
        if self._closed:
            return
        self._closed = reason or Closed("the bus was closed")
        self._is_joined = False
        self._watch_until(math.inf)
        for request in self._unanswered():
            self._forget(request)
            request.done(_again(self._closed))
        for feed in list(self._feeds.values()):
            feed.end(reason)
        for serving in self._servings.values():
            serving._end(self._closed)
        self._feeds, self._servings = {}, {}
        for task in self._answering - {_present_task()}:
            task.cancel()
        if self._runner:
            self._end_runner(reason)

    def _part(self) -> None:
        """In a process that was forked off: the connection is the other one's, and so is what it brought."""
        if isinstance(getattr(self._loop, "_selector", None), selectors.BaseSelector):
            # The two share what the kernel watches for the loop. Python's loop would take the files of the
            # other one out of it when it closes.
            setattr(self._loop, "_selector", selectors.DefaultSelector())
        for feed in self._feeds.values():
            feed.forget()
        self._close(Forked("the bus was opened before this process was forked", hint="open another one here"))

    def _end_runner(self, reason: Optional[BusError]) -> None:
        for future, failure in ((self._opened, self._closed), (self._ended, reason)):
            if not future.done():
                future.set_exception(failure) if failure else future.set_result(None)
                future.exception()  # Perhaps nobody waits for it.
        if self._wire:
            self._wire.fail(Closed("the bus was closed"))
        if self._runner is not _present_task():
            assert self._runner
            self._runner.cancel()

    # Subscriptions

    async def _begin_feed(self, feed: _Feed) -> None:
        if feed.started.done():
            return
        self._check()
        if not feed.is_asked:
            feed.is_asked = True
            self._feeds[feed.sub] = feed
            if self._is_joined:
                try:
                    self._ask_feed(feed)
                except BusError as error:
                    self._end_feed(feed, error)
        await self._within(feed.started, "subscribe")

    def _ask_feed(self, feed: _Feed) -> None:
        greeting = self.greeting

        def done(outcome: Union[_Reply, BusError]) -> None:
            if isinstance(outcome, _Reply):
                feed.begin(outcome.members, greeting)
            elif isinstance(outcome, Refused):
                self._feeds.pop(feed.sub, None)
                feed.end(outcome)

        members = feed.request(greeting)
        self._ask(members["op"], {name: members[name] for name in members if name != "op"}, done)
        if feed.is_paused:
            self._ask("pause", {"sub": feed.sub}, self._complaint("pause"))

    def _end_feed(self, feed: _Feed, failure: Optional[BusError] = None) -> None:
        feed.end(failure)
        if self._feeds.pop(feed.sub, None) and self._is_joined:
            self._ask("unsubscribe", {"sub": feed.sub}, _nothing)

    def _abandon(self, feed: _Feed) -> None:
        """A subscription was released, perhaps on another thread or at the end of the program."""
        if feed.is_asked and not feed.is_ended:
            try:
                self._loop.call_soon_threadsafe(self._end_feed, feed)
            except RuntimeError:
                pass  # The loop has ended, and the connection with it.

    def _ack_quietly(self, sub: int, revision: int) -> None:
        if self._is_joined:
            self._ask("ack", {"sub": sub, "revision": revision}, _nothing)

    # Services

    def _serve(self, serving: Serving) -> None:
        self._check()
        if serving.pattern in self._servings:
            raise Conflict(f"{serving.pattern!r} is served by this client already")
        self._servings[serving.pattern] = serving
        if self._is_joined:
            try:
                self._ask_serving(serving)
            except BusError:
                del self._servings[serving.pattern]
                raise

    def _ask_serving(self, serving: Serving) -> None:
        def done(outcome: Union[_Reply, BusError]) -> None:
            if isinstance(outcome, _Reply):
                serving._begun(bool(outcome.members.get("spare")))
            elif isinstance(outcome, Refused) and self._servings.get(serving.pattern) is serving:
                del self._servings[serving.pattern]
                serving._end(outcome)
                self._refused_serving(serving, outcome)

        self._ask("serve", serving._members, done)

    def _refused_serving(self, serving: Serving, error: Refused) -> None:
        if serving.is_awaited:
            return
        _log.error("%s isn't served: %s", serving.pattern, error)
        if not self._ended.done():
            self._ended.set_exception(error)
            self._ended.exception()  # Perhaps nobody waits for it.

    async def _unserve(self, serving: Serving) -> None:
        if self._servings.get(serving.pattern) is serving:
            self._drop_serving(serving)
            if self._is_joined:
                await self.sync()

    def _drop_serving(self, serving: Serving) -> None:
        if self._servings.get(serving.pattern) is serving:
            del self._servings[serving.pattern]
            if self._is_joined:
                self._ending.add(serving)
                self._ask("unserve", {"key": serving.pattern}, lambda _: self._ending.discard(serving))

    def _called(self, members: _Members) -> None:
        call = Call(
            key=_text(members, "key"),
            value=members.get("value"),
            by=_text_or_none(members, "by"),
            cause=_integer_or_none(members, "cause"),
            has_value="value" in members,
            id=_text(members, "call"),
            revision=_integer_or_none(members, "revision"),
        )
        serving = self._server(call.key)
        if not serving:
            return self._return(self._wire, call, _failure("no_provider", f"{call.key} is served no more"))
        if len(self._answering) >= CALLS_MAX:
            return self._return(self._wire, call, _failure("limit", f"{CALLS_MAX} calls are being answered"))
        task = self._loop.create_task(self._answer(self._wire, serving, call))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def _server(self, key: str) -> Optional[Serving]:
        """The most specific one, as at the broker."""
        present = [*self._servings.values(), *self._ending]
        fitting = [serving for serving in present if matches(serving.pattern, key)]
        return min(fitting, key=lambda serving: _rank(serving.pattern)) if fitting else None

    async def _answer(self, wire: Optional[_Wire], serving: Serving, call: Call) -> None:
        # An older broker doesn't say at which revision it sent the call.
        revision = call.cause if call.revision is None else call.revision
        _cause.set(None if revision is None else _Cause(self.greeting.epoch, revision))
        try:
            answer: _Members = {"value": await serving._answer(call)}
        except asyncio.CancelledError:
            if self._closed:
                raise
            answer = _failure("failed", "the server's work was cancelled")
        except Exception as error:
            if not isinstance(error, BusError):
                _log.exception("the handler of %s failed", serving.pattern)
            answer = _failure_of(error)
        self._return(wire, call, answer)

    def _return(self, wire: Optional[_Wire], call: Call, answer: _Members) -> None:
        """Sends an answer. If it can't be sent, or the broker refuses it, the caller is told so at once."""

        def done(outcome: Union[_Reply, BusError]) -> None:
            if not isinstance(outcome, (BadValue, Refused)):
                return
            _log.error("the answer of %s: %s", call.key, outcome)
            if "value" in answer:
                code = "limit" if outcome.code in ("limit", "too_long") else "failed"
                self._return(wire, call, _failure(code, f"the answer can't be sent: {outcome.message}"))

        # The number of a call means nothing on a later connection.
        if self._is_joined and self._wire is wire:
            try:
                self._ask("return", {"call": call.id, **answer}, done)
            except BadValue as error:
                done(error)

    # Announced values

    def _announce_again(self, announced: _Announced) -> None:
        def done(outcome: Union[_Reply, BusError]) -> None:
            if isinstance(outcome, _Reply):
                announced.revision = _integer(outcome.members, "revision")
            self._complaint(announced.write.key)(outcome)

        announced.revision = None
        self._ask(announced.write.op, announced.write._members(None), done)

    async def _withdraw(self, announced: _Announced) -> None:
        if announced in self._announced:
            self._announced.remove(announced)
            try:
                await self.sync()  # It may be on its way again.
                await self.delete(announced.write.key, if_revision=announced.revision, cause=None)
            except Refused:
                pass  # Another client has written the key, or deleted it.


_KINDS = {"update", "delete", "leave", "emit", "synced", "lagged", "trace"}


def _nothing(_: Union[_Reply, BusError]) -> None:
    """For requests whose answer changes nothing."""


def _failure(code: str, message: str) -> _Members:
    """What a server answers instead of a value."""
    text = message.encode("utf-8", "replace").decode()[:MESSAGE_CHARACTERS_MAX]
    return {"error": {"code": code if _CODE.fullmatch(code) else "failed", "message": text}}


def _failure_of(error: Exception) -> _Members:
    """The same for an exception of a handler, even if it has no proper code or text."""
    try:
        if isinstance(error, BusError):
            return _failure(error.code, error.message)
        return _failure("failed", f"{type(error).__name__}: {error}")
    except Exception:
        return _failure("failed", type(error).__name__)


def _again(error: BusError) -> BusError:
    """A copy for another one who waits, because each `raise` adds to an exception's traceback."""
    return type(error)(error.message, code=error.code, hint=error.hint)


def _present_task() -> Optional[asyncio.Task[Any]]:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


@dataclass(frozen=True)
class _Options:
    name: Optional[str]
    path: Optional[str]
    wait: float
    reconnect: bool
    request_timeout: float
    connect_timeout: float
    exact: bool
    peer: Optional[str]
    grace: Optional[int]


def connect(
    name: Optional[str] = None,
    path: Optional[str] = None,
    *,
    wait: float = 0,
    reconnect: bool = True,
    request_timeout: Optional[float] = None,
    connect_timeout: Optional[float] = None,
    exact: bool = False,
    peer: Optional[str] = None,
    grace: float = 0,
) -> Bus:
    """A bus: `async with plugboard.connect(name="till") as bus:`, or `bus = await plugboard.connect()`.

    - `name`: the `by` of everything that this client writes.
    - `path`: the broker's socket; by default `PLUGBOARD_SOCKET`, or else the user's own place.
    - `wait`: how many seconds to wait for a broker that isn't there yet.
    - `reconnect`: whether to connect again when the connection breaks. If not, the bus closes.
    - `request_timeout`: how many seconds a request may take that has no `timeout` of its own; by default
      `PLUGBOARD_TIMEOUT`, or else 5.
    - `connect_timeout`: how many seconds the broker may take to greet, and how long it may be silent before it
      answers what the bus itself asks, such as the subscriptions on a new connection; likewise.
    - `exact`: numbers with a point or an exponent become `decimal.Decimal` instead of `float`, or `Raw` if the
      exponent has so many digits that there is no such `Decimal`.
    - `peer`: a user, besides this one and root, whose broker is trusted; or else `PLUGBOARD_PEER`.
    - `grace`: how many seconds the broker waits for the next program of this name when the connection ends, before it
      makes the will and deletes the announced values. `run`, `async with` and `with` then end without goodbye, so that
      an update isn't seen as death and birth.
    """
    if wait:
        _seconds("wait", wait)
    limit = _seconds("request_timeout", _usual_timeout() if request_timeout is None else request_timeout)
    patience = _seconds("connect_timeout", _usual_timeout() if connect_timeout is None else connect_timeout)
    return_within = _milliseconds("grace", grace) if grace else None
    return Bus(_Options(name, path, wait, reconnect, limit, patience, exact, peer, return_within))


# A fork. The child has a copy of each bus, but the connection is the parent's: what the child sent would be
# the parent's doing, and what it read would be lost to the parent.

_buses: weakref.WeakSet[Union[Bus, BlockingBus]] = weakref.WeakSet()
_sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
_stops: Set[signal.Signals] = set()


def _part_from_parent() -> None:
    for connection in list(_sockets):
        connection.close()
    for bus in list(_buses):
        try:
            bus._part()
        except RuntimeError:
            pass  # Its loop ran in another thread, and so it doesn't run here.
    if _stops:
        # Otherwise the parent would get the child's signals.
        signal.set_wakeup_fd(-1)
    for number in _stops:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


os.register_at_fork(after_in_child=_part_from_parent)


# A plugin


def run(
    name: str,
    main: Callable[[Bus], Awaitable[object]],
    *,
    path: Optional[str] = None,
    wait: float = 5,
    **options: Any,
) -> None:
    """Runs a plugin: connects, runs `main`, and goes on until SIGTERM or SIGINT, also if `main` returns.

    Then it takes no more calls, gives those that have come a second for their answers, cancels `main`, and
    says goodbye. If it can't go on, it ends the process with a message on standard error: with
    status 69 without a broker that it can use, and 1 for any other error. In messages and tracebacks,
    characters that can't be seen are spelled out.
    """
    _show_failures()
    try:
        asyncio.run(_run(connect(name, path, wait=wait, **options), main))
    except BusError as error:
        print(f"{_shown(name)}: {error}", file=sys.stderr)
        sys.exit(69 if isinstance(error, (NoBroker, Untrusted, Disconnected)) else 1)
    finally:
        _stops.clear()


def _show_failures() -> None:
    """Spells out what Python says about errors, unless the program has seen to that itself."""
    logging.getLogger("asyncio").addFilter(_SHOWN_RECORDS)
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show_failure
    if threading.excepthook is _THREAD_HOOK:
        threading.excepthook = _show_thread_failure
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _show_ignored


def _show_failure(
    kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType], what: str = ""
) -> None:
    try:
        print(what + _shown_traceback(kind, error, trace), end="", file=sys.stderr)
    except Exception:
        print(f"{what}{kind.__name__}", file=sys.stderr)


def _show_thread_failure(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_type is not SystemExit:
        name = _shown(failure.thread.name) if failure.thread else "a thread"
        error = failure.exc_value or failure.exc_type()
        _show_failure(failure.exc_type, error, failure.exc_traceback, f"Exception in thread {name}:\n")


def _show_ignored(failure: sys.UnraisableHookArgs) -> None:
    what = f"{failure.err_msg or 'Exception ignored in'}: a {type(failure.object).__name__}\n"
    error = failure.exc_value or failure.exc_type()
    _show_failure(failure.exc_type, error, failure.exc_traceback, what)


_THREAD_HOOK = threading.excepthook


async def _run(bus: Bus, main: Callable[[Bus], Awaitable[object]]) -> None:
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _set, stop)
        _stops.add(number)
    work = loop.create_task(_work(bus, main))
    await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
    if stop.done():
        # What handlers need may end with `main`.
        await bus._finish_calls()
        work.cancel()
        await asyncio.wait({work})
        if work.cancelled():
            return
    stop.cancel()
    work.result()


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _work(bus: Bus, main: Callable[[Bus], Awaitable[object]]) -> None:
    await bus
    try:
        await main(bus)
        await bus.forever()
    except asyncio.CancelledError:
        await bus._leave(True)
        raise
    except BaseException:
        await bus.close()
        raise


# The blocking twin


class BlockingSubscription:
    """A subscription for a `for` loop. In its body, writes name the event as their `cause`."""

    def __init__(self, bus: BlockingBus, subscription: Subscription) -> None:
        self._bus = bus
        self._subscription = subscription
        self._cursor = subscription._cursor(subscription)

    def updates(self) -> BlockingSubscription:
        """Only the events `update`: the current values, and then each new one."""
        return BlockingSubscription(self._bus, self._subscription.updates())

    def __enter__(self) -> BlockingSubscription:
        self._bus._wait(self._subscription._begin())
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        try:
            while True:
                event = self.next()
                if event is None:
                    return
                yield event
        finally:
            # After `break`, what follows the loop has another cause.
            self._cursor.forget_cause()

    def __next__(self) -> Event:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event; None at the end. Raises `TimedOut` if none comes in that many seconds, or if the
        broker isn't there to begin the subscription. It goes on all the same."""
        if timeout is not None:
            _seconds("timeout", timeout)
        self._cursor.forget_cause()
        event = self._bus._wait(self._next(timeout))
        if event:
            self._cursor._name_cause(event)
        return event

    async def _next(self, timeout: Optional[float]) -> Optional[Event]:
        try:
            return await asyncio.wait_for(self._cursor._advance(), timeout)
        except asyncio.TimeoutError:
            raise TimedOut(f"no event within {timeout:g} s") from None

    @property
    def sub(self) -> int:
        """Its number, which `pause`, `step` and `resume` of other clients need."""
        return self._subscription.sub

    def pause(self) -> int:
        """Holds it. Returns how many keys and lines the broker owes it."""
        return self._bus._wait(self._subscription.pause())

    def step(self, count: int = 1) -> int:
        """Lets single events through a pause."""
        return self._bus._wait(self._subscription.step(count))

    def resume(self) -> int:
        """Releases it."""
        return self._bus._wait(self._subscription.resume())

    def close(self) -> None:
        """Ends it. The loop ends after the events that wait."""
        self._cursor.forget_cause()
        if not self._bus.closed:
            self._bus._wait(self._subscription.close())


class BlockingPipeline(_Requests):
    """Requests that go out together: `with bus.pipeline() as pipe:`. It is as `Pipeline` is, and waits."""

    def __init__(self, twin: BlockingBus, answers: bool, timeout: Optional[float]) -> None:
        super().__init__(twin._bus, answers, timeout)
        self._twin = twin

    def __enter__(self) -> BlockingPipeline:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        if kind is None:
            self.send()

    def send(self) -> List[Any]:
        """Sends what waits, waits for the answers, and returns the `results`. If there are errors among them,
        it raises the first one."""
        return self._twin._wait(self._send())


class BlockingBus:
    """A bus for scripts without asyncio, made by `plugboard.open()`. Its methods are those of `Bus`, and
    wait. It may be used from several threads. Handlers of calls run in threads of their own."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._loop = asyncio.new_event_loop()
        self._pool: Optional[concurrent.futures.ThreadPoolExecutor] = None
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="plugboard", daemon=True)
        self._thread.start()
        _buses.add(self)
        try:
            self._wait(bus._open())
        except BaseException:
            self.close()
            raise

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        if threading.current_thread() is self._thread:
            work.close()
            raise BusError("this would wait for itself", code="wrong_thread")
        with self._lock:
            if self._is_closed:
                work.close()
                raise _again(self._bus._closed or Closed("the bus was closed"))
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Closed("the bus was closed") from None
        except BaseException:
            future.cancel()  # Ctrl-C may have ended the wait.
            raise

    def __enter__(self) -> BlockingBus:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            # Handlers may use the bus until then.
            if kind is None and not self._is_closed:
                self._wait(self._bus._finish_calls())
        except Closed:
            pass  # Another thread has closed it meanwhile.
        finally:
            self._end(self._bus._leave(kind is None))

    def goodbye(self) -> None:
        """Ends the connection in order: the broker forgets the will. Then the bus is closed."""
        self._end(self._bus.goodbye())

    def close(self) -> None:
        """Ends the connection at once. The broker makes the will."""
        self._end(self._bus.close())

    def _part(self) -> None:
        """In a process that was forked off: the thread is the other one's, and may have held the lock."""
        self._lock = threading.Lock()
        self._is_closed = True

    def _end(self, work: Coroutine[Any, Any, None]) -> None:
        with self._lock:
            is_late, self._is_closed = self._is_closed, True
        if is_late:
            return work.close()
        try:
            asyncio.run_coroutine_threadsafe(self._finish(work), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            if self._pool:
                self._pool.shutdown(wait=False)

    @staticmethod
    async def _finish(work: Coroutine[Any, Any, None]) -> None:
        """Also ends whatever waits in other threads."""
        await work
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_asyncgens()

    @property
    def closed(self) -> bool:
        """Whether the bus was closed."""
        return self._is_closed

    @property
    def path(self) -> str:
        """The broker's socket."""
        return self._bus.path

    @property
    def greeting(self) -> Greeting:
        """What the broker said when the newest connection began."""
        return self._bus.greeting

    @property
    def connected(self) -> bool:
        """Whether there is a connection now."""
        return self._bus.connected

    def publish(
        self,
        key: str,
        value: Any,
        *,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        while_connected: bool = False,
        ttl: Optional[float] = None,
        durable: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Sets a value, and returns its revision."""
        write = Write("publish", key, value, if_revision, cause, while_connected, ttl)
        return self.write(write, durable=durable, timeout=timeout)

    def emit(
        self, key: str, value: Any, *, cause: Optional[int] = _ABSENT, timeout: Optional[float] = None
    ) -> int:
        """Sends a value to the observers of a key, and keeps nothing."""
        return self.write(Write.emit(key, value, cause=cause), timeout=timeout)

    def patch(
        self,
        key: str,
        value: Any,
        *,
        field: Optional[str] = None,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        durable: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Merges a patch (RFC 7396) into a value, or into the part that a JSON Pointer names."""
        write = Write("patch", key, value, if_revision, cause, field=field)
        return self.write(write, durable=durable, timeout=timeout)

    def add(
        self,
        key: str,
        number: Any,
        *,
        field: Optional[str] = None,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        while_connected: bool = False,
        ttl: Optional[float] = None,
        durable: bool = False,
        timeout: Optional[float] = None,
    ) -> Any:
        """Adds to a number, and returns the sum."""
        return self._wait(
            self._bus.add(
                key,
                number,
                field=field,
                if_revision=if_revision,
                cause=cause,
                while_connected=while_connected,
                ttl=ttl,
                durable=durable,
                timeout=timeout,
            )
        )

    def delete(
        self,
        key: str,
        *,
        if_revision: Optional[int] = None,
        cause: Optional[int] = _ABSENT,
        durable: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Removes a key."""
        write = Write("delete", key, _ABSENT, if_revision, cause)
        return self.write(write, durable=durable, timeout=timeout)

    def write(self, write: Write, *, durable: bool = False, timeout: Optional[float] = None) -> int:
        """Makes one write, and returns the revision."""
        return self._wait(self._bus.write(write, durable=durable, timeout=timeout))

    def batch(
        self, writes: Iterable[Write], *, durable: bool = False, timeout: Optional[float] = None
    ) -> int:
        """Makes all writes as one revision, or none."""
        return self._wait(self._bus.batch(list(writes), durable=durable, timeout=timeout))

    def pipeline(self, *, answers: bool = True, timeout: Optional[float] = None) -> BlockingPipeline:
        """Collects requests that go out together. With `answers=False` the broker answers only those that it
        refuses."""
        return BlockingPipeline(self, answers, timeout)

    def get(self, key: str, *, timeout: Optional[float] = None) -> Any:
        """The value of a key. Raises `NotFound` if there is none."""
        return self._wait(self._bus.get(key, timeout=timeout))

    def entry(self, key: str, *, timeout: Optional[float] = None) -> Entry:
        """The value of a key with its revision and writer."""
        return self._wait(self._bus.entry(key, timeout=timeout))

    def keys(
        self,
        pattern: str = "**",
        *,
        after: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Listed]:
        """The keys that match, in the order of their bytes."""
        return self._wait(self._bus.keys(pattern, after=after, limit=limit, timeout=timeout))

    def subscribe(self, *patterns: str, **options: Any) -> BlockingSubscription:
        """A subscription for a `for` loop. The options are those of `Bus.subscribe`."""
        return BlockingSubscription(self, self._wait(self._later(self._bus.subscribe, patterns, options)))

    def trace(self, *patterns: str, **options: Any) -> BlockingSubscription:
        """For each write to a matching key what became of it for each observer."""
        return BlockingSubscription(self, self._wait(self._later(self._bus.trace, patterns, options)))

    @staticmethod
    async def _later(work: Callable[..., _T], arguments: Iterable[Any], options: Mapping[str, Any]) -> _T:
        return work(*arguments, **options)

    def pause(self, sub: Union[int, str], *, client: Optional[int] = None) -> int:
        """Holds a subscription, perhaps another client's."""
        return self._wait(self._bus.pause(sub, client=client))

    def step(self, sub: Union[int, str], count: int = 1, *, client: Optional[int] = None) -> int:
        """Lets that many of the owed lines through a pause."""
        return self._wait(self._bus.step(sub, count, client=client))

    def resume(self, sub: Union[int, str], *, client: Optional[int] = None) -> int:
        """Releases a subscription."""
        return self._wait(self._bus.resume(sub, client=client))

    def ack(self, sub: Union[int, str], revision: int) -> int:
        """Acknowledges everything up to a revision."""
        return self._wait(self._bus.ack(sub, revision))

    def call(
        self,
        key: str,
        value: Any = _ABSENT,
        *,
        timeout: Optional[float] = None,
        cause: Optional[int] = _ABSENT,
    ) -> Any:
        """Asks the client that serves the key, and returns its answer."""
        return self._wait(self._bus.call(key, value, timeout=timeout, cause=cause))

    def serve(
        self, pattern: str, *, spare: bool = False, serves: Optional[Callable[[], Any]] = None
    ) -> Callable[[_H], _H]:
        """A decorator: the function answers the calls of a key, or of all keys that match. It runs in a
        thread of its own, so it may use the bus; `sys.exit` in it ends only the call. `spare` and `serves` are those of
        `Bus.serve`; `serves` runs in the bus's own thread, so it may not use the bus."""

        def decorate(handler: _H) -> _H:
            self._wait(self._serve(pattern, handler, spare, serves))
            return handler

        return decorate

    async def _serve(
        self, pattern: str, handler: Handler, spare: bool, serves: Optional[Callable[[], Any]]
    ) -> None:
        if not self._pool:
            self._pool = concurrent.futures.ThreadPoolExecutor(THREADS_MAX, "plugboard-call")
        pool = self._pool

        async def in_thread(call: Call) -> Any:
            context = contextvars.copy_context()
            try:
                return await self._loop.run_in_executor(pool, context.run, handler, call)
            except SystemExit as error:
                # In a thread it ends nothing but the thread's work. Here it would end the bus's own thread.
                raise RuntimeError(f"the handler called sys.exit({error.code!r})") from error

        await self._bus.serve(pattern, in_thread, spare=spare, serves=serves)

    def unserve(self, pattern: str) -> None:
        """Ends it. Calls that the broker sent before are still answered, also those that are on their way."""
        self._wait(self._unserve(pattern))

    async def _unserve(self, pattern: str) -> None:
        serving = self._bus._servings.get(pattern)
        if not serving:
            raise NotFound(f"this client does not serve {pattern!r}")
        await serving.close()

    def who(self, key: str, *, timeout: Optional[float] = None) -> Observers:
        """The observers of a key and their states, its writer, and its server."""
        return self._wait(self._bus.who(key, timeout=timeout))

    def why(self, key: str, *, limit: Optional[int] = None, timeout: Optional[float] = None) -> Chain:
        """The chain of writes that led to a value."""
        return self._wait(self._bus.why(key, limit=limit, timeout=timeout))

    def explain(self, write: Write, *, timeout: Optional[float] = None) -> Explanation:
        """What a write would do, without making it."""
        return self._wait(self._bus.explain(write, timeout=timeout))

    def disconnect(self, client: int, *, timeout: Optional[float] = None) -> int:
        """Ends the connection of a client. Returns the revision after what it had left to be done."""
        return self._wait(self._bus.disconnect(client, timeout=timeout))

    def hello(self, name: str, *, timeout: Optional[float] = None) -> None:
        """Names this client."""
        self._wait(self._bus.hello(name, timeout=timeout))

    def will(self, write: Optional[Write], *, timeout: Optional[float] = None) -> None:
        """Gives the broker a write that it makes if this connection ends without goodbye."""
        self._wait(self._bus.will(write, timeout=timeout))

    def announce(self, key: str, value: Any, *, timeout: Optional[float] = None) -> Callable[[], None]:
        """Publishes a value that ends with the connection, and publishes it again on each new one. Call what
        it returns to withdraw the value."""
        announcement = self._wait(self._bus.announce(key, value, timeout=timeout))
        return lambda: self._wait(announcement.withdraw())

    def health(
        self,
        state: str,
        message: Optional[str] = None,
        *,
        counts: Optional[Mapping[str, int]] = None,
        timeout: Optional[float] = None,
    ) -> None:
        """Tells at `NAME.health` how this program is: "well", "degraded" or "down"."""
        self._wait(self._bus.health(state, message, counts=counts, timeout=timeout))

    def sync(self, *, timeout: Optional[float] = None) -> int:
        """Waits for everything that earlier requests caused for this client."""
        return self._wait(self._bus.sync(timeout=timeout))

    def help(self, about: Optional[str] = None, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """The broker's help, for a person."""
        return self._wait(self._bus.help(about, timeout=timeout))

    def forever(self) -> None:
        """Waits until the bus is closed, while threads answer calls."""
        self._wait(self._bus.forever())


def open(
    name: Optional[str] = None,
    path: Optional[str] = None,
    *,
    wait: float = 0,
    reconnect: bool = True,
    request_timeout: Optional[float] = None,
    connect_timeout: Optional[float] = None,
    exact: bool = False,
    peer: Optional[str] = None,
    grace: float = 0,
) -> BlockingBus:
    """A bus for scripts without asyncio: `with plugboard.open() as bus:`. The options are `connect`'s."""
    return BlockingBus(
        connect(
            name,
            path,
            wait=wait,
            reconnect=reconnect,
            request_timeout=request_timeout,
            connect_timeout=connect_timeout,
            exact=exact,
            peer=peer,
            grace=grace,
        )
    )
