#!/usr/bin/env python3
"""Holds lines that a broker wrote against protocol/schema.json, by a validator that isn't ours.

usage: .ci/schema.py FILE    FILE: a line of the broker's on each of its lines
Needs Python's jsonschema: Debian's python3-jsonschema, or pip install jsonschema.
"""
import json
import pathlib
import sys

from jsonschema import Draft202012Validator


def number(digits):
    # Python refuses to read integers of thousands of digits; the schema asks for no more than these.
    return int(digits) if len(digits) <= 20 else float(digits)


def main():
    schema = json.loads((pathlib.Path(__file__).parent.parent / "protocol/schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    del schema["anyOf"]
    validator = Draft202012Validator(schema | {"$ref": "#/$defs/output"})
    count, problems, seen = 0, 0, set()
    with open(sys.argv[1], "rb") as lines:
        for line in lines:
            count += 1
            if line in seen:
                continue
            seen.add(line)
            value = json.loads(line.decode(), parse_int=number)
            kinds = [name for name in value if name in ("ok", "error", "event")]
            if len(kinds) == 1 and next(iter(value)) == kinds[0] and validator.is_valid(value):
                continue
            problems += 1
            if problems <= 10:
                errors = "; ".join(error.message[:200] for error in validator.iter_errors(value))
                print(f"{line.decode().strip()[:500]}\n  {errors or 'ok, error or event: not one, or not first'}")
    print(f"{count} lines, {len(seen)} of them different, {problems} not in the schema")
    sys.exit(1 if problems or not count else 0)


main()
