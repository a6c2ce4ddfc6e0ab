"""Runs the programs of the README with a real broker, and checks that the library is as the README says."""

from __future__ import annotations

import ast
import base64
import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, List, Set, Tuple

from brokers import SECONDS, Broker

import package
import plugboard

FOLDER = Path(__file__).resolve().parent.parent


def blocks(language: str, readme: Path = FOLDER / "README.md") -> List[str]:
    page = readme.read_text(encoding="utf-8")
    return re.findall(f"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


class ProgramTests(unittest.TestCase):
    def setUp(self) -> None:
        self.broker = Broker()
        self.addCleanup(self.broker.remove)

    def start(self, program: str) -> "subprocess.Popen[str]":
        return self.start_command(sys.executable, "-W", "error", "-c", program, PYTHONPATH=str(FOLDER))

    def start_command(self, *command: str, **environment: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            command,
            env={**os.environ, "PLUGBOARD_SOCKET": self.broker.path, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process: "subprocess.Popen[str]") -> None:
        process.kill()
        process.communicate()

    def test_the_plugin_works_and_ends_in_order(self) -> None:
        plugin = blocks("python")[0]
        self.assertLessEqual(len([line for line in plugin.split("\n") if line and line[0] != "#"]), 15)
        with plugboard.open(path=self.broker.path) as bus:
            shipping = bus.subscribe("shipping").updates()
            for number in (signal.SIGTERM, signal.SIGINT):
                bus.publish("cart.summary", {"items": 1, "total": 599.85})
                process = self.start(plugin)
                event = shipping.next(SECONDS)
                assert event
                self.assertEqual(
                    (event.value, event.by, event.cause),
                    ("4.90", "free-shipping", bus.entry("cart.summary").revision),
                )
                bus.publish("cart.summary", {"items": 2, "total": 600})
                event = shipping.next(SECONDS)
                assert event
                self.assertEqual(event.value, "free")
                self.assertEqual(bus.call("shipping.quote", {"total": 700}), "free")
                process.send_signal(number)
                self.assertEqual(process.communicate(timeout=SECONDS), ("", ""))
                self.assertEqual(process.returncode, 0)
                bus.delete("shipping")

    def test_the_plugin_of_the_projects_readme_works(self) -> None:
        programs = blocks("python", FOLDER.parent.parent / "README.md")
        self.assertEqual(len(programs), 1)
        with plugboard.open(path=self.broker.path) as bus:
            shipping = bus.subscribe("shipping").updates()
            bus.publish("cart.summary", {"items": 1, "total": 599.85})
            with tempfile.TemporaryDirectory() as folder:
                program = Path(folder, "free-shipping")
                program.write_text(programs[0], encoding="utf-8")
                program.chmod(0o755)
                shutil.copy(FOLDER / "plugboard.py", folder)
                process = self.start_command(str(program))
                self.follow(bus, shipping)
                # A wrong value is reported, and the plugin goes on.
                bus.publish("cart.summary", {"items": "many"})
                bus.publish("cart.summary", "nothing")
                bus.publish("cart.summary", {"items": 1, "total": 9.90})
                event = shipping.next(SECONDS)
                assert event
                self.assertEqual(event.value, "4.90")
                process.send_signal(signal.SIGTERM)
                _, told = process.communicate(timeout=SECONDS)
                self.assertEqual(told, "not a summary: {'items': 'many'}\nnot a summary: nothing\n")

    def follow(self, bus: plugboard.BlockingBus, shipping: plugboard.BlockingSubscription) -> None:
        for total, price in ((0, "4.90"), (600, "free")):
            if total:
                bus.publish("cart.summary", {"items": 2, "total": total})
            event = shipping.next(SECONDS)
            assert event
            self.assertEqual((event.value, event.by), (price, "free-shipping"))

    def test_a_plugin_outlives_its_broker(self) -> None:
        process = self.start(blocks("python")[0])
        for total in (100, 700):
            with plugboard.open(path=self.broker.path) as bus:
                bus.publish("cart.summary", {"total": total})
                event = bus.subscribe("shipping").updates().next(SECONDS)
                assert event
                self.assertEqual(event.value, "free" if total >= 600 else "4.90")
            self.broker.kill()
            self.broker.start()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(SECONDS), 0)

    def test_a_plugin_may_end_by_itself(self) -> None:
        program = "import plugboard\nasync def main(bus): await bus.goodbye()\nplugboard.run('p', main)"
        process = self.start(program)
        self.assertEqual(process.communicate(timeout=SECONDS), ("", ""))
        self.assertEqual(process.returncode, 0)

    SLOW = """if True:
        import plugboard, sys
        plugboard.GOODBYE_SECONDS_MAX = float(sys.argv[1])

        async def main(bus):
            @bus.serve("slow")
            async def slow(call):
                await bus.publish("asked", call.value)
                await bus.subscribe("go").updates().__anext__()
                return call.value

            try:
                await bus.forever()
            finally:
                await bus.publish("main", "ended")

        plugboard.run("p", main, grace=float(sys.argv[2]))
        """

    def stopped_with_a_call(self, bus: plugboard.BlockingBus, *arguments: str) -> "Tuple[Any, Future[Any]]":
        """The program above, which got SIGTERM, and the call that it had got before."""
        process = self.start_command(
            sys.executable, "-W", "error", "-c", self.SLOW, *arguments, PYTHONPATH=str(FOLDER)
        )
        while not bus.who("slow").server:
            self.assertIsNone(process.poll())
        pool = ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        call = pool.submit(bus.call, "slow", 5, timeout=SECONDS)
        asked = bus.subscribe("asked").updates().next(SECONDS)
        assert asked
        process.send_signal(signal.SIGTERM)
        return process, call

    def test_a_plugin_that_is_stopped_answers_the_calls_that_it_has(self) -> None:
        for grace in ("0", "3600"):
            with plugboard.open(path=self.broker.path) as bus:
                process, call = self.stopped_with_a_call(bus, str(SECONDS), grace)
                while bus.who("slow").server:
                    pass
                with self.assertRaises(plugboard.NotFound):
                    bus.get("main")
                bus.publish("go", 1)
                self.assertEqual(call.result(SECONDS), 5)
                self.assertEqual(process.communicate(timeout=SECONDS), ("", ""))
                self.assertEqual((process.returncode, bus.get("main")), (0, "ended"))
                bus.batch([plugboard.Write.delete(key) for key in ("asked", "go", "main")])

    def test_a_plugin_that_is_stopped_does_not_wait_for_ever(self) -> None:
        with plugboard.open(path=self.broker.path) as bus:
            process, call = self.stopped_with_a_call(bus, "0.05", "0")
            with self.assertRaises(plugboard.Refused) as caught:
                call.result(SECONDS)
            self.assertEqual(caught.exception.code, "provider_gone")
            self.assertEqual(process.communicate(timeout=SECONDS), ("", ""))
            self.assertEqual((process.returncode, bus.get("main")), (0, "ended"))

    def test_a_plugin_that_cannot_go_on_says_why(self) -> None:
        program = "import plugboard\nasync def main(bus): await bus.get('nowhere')\nplugboard.run('p', main, wait=0.05)"
        process = self.start(program)
        output, complaint = process.communicate(timeout=SECONDS)
        self.assertEqual((process.returncode, output), (1, ""))
        self.assertIn("p: not_found: ", complaint)
        self.broker.kill()
        process = self.start(program)
        _, complaint = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 69)
        self.assertIn("p: no_broker: ", complaint)

    def test_a_plugin_spells_out_what_others_wrote(self) -> None:
        written = "\x1b[31m\u202ered\n"
        spelled = "\\u001b[31m\\u202ered\\u000a"
        with plugboard.open(path=self.broker.path) as bus:

            @bus.serve("refuse")
            def refuse(call: plugboard.Call) -> None:
                raise plugboard.CallError("no", written)

            bus.publish("written", written)
            for body, status, told in (
                ("await bus.call('refuse')", 1, f"^p: no: {re.escape(spelled)}\n$"),
                ("raise ValueError(await bus.get('written'))", 1, f"\nValueError: {re.escape(spelled)}\n$"),
                (
                    "try: await bus.call('refuse')\n    except plugboard.BusError as error: raise OSError from error",
                    1,
                    f"(?s)\nplugboard.CallError|Refused: no: {re.escape(spelled)}\n.*\nOSError\n$",
                ),
                (
                    "value = await bus.get('written')\n    def work(): raise ValueError(value)\n"
                    "    thread = threading.Thread(target=work, name=value)\n"
                    "    thread.start(); thread.join(); await bus.goodbye()",
                    0,
                    f"(?s)^Exception in thread {re.escape(spelled)}:\n.*\nValueError: {re.escape(spelled)}\n$",
                ),
                (
                    "async def work(): raise ValueError(await bus.get('written'))\n"
                    "    task = asyncio.ensure_future(work())\n    await asyncio.wait([task]); del task\n"
                    "    gc.collect(); await bus.goodbye()",
                    0,
                    f"(?s)^Task exception.*\nValueError: {re.escape(spelled)}\n$",
                ),
                (
                    "@bus.serve('fail')\n    async def fail(call): raise ValueError(call.value)\n"
                    "    try: await bus.call('fail', await bus.get('written'))\n"
                    "    except plugboard.Refused: await bus.goodbye()",
                    0,
                    f"(?s)^the handler of fail failed\n.*\nValueError: {re.escape(spelled)}\n$",
                ),
            ):
                with self.subTest(body):
                    program = f"import asyncio, gc, threading, plugboard\nasync def main(bus):\n    {body}\n"
                    process = self.start(program + "plugboard.run('p', main)")
                    output, complaint = process.communicate(timeout=SECONDS)
                    self.assertEqual((process.returncode, output), (status, ""), complaint)
                    self.assertRegex(complaint, told)
                    self.assertNotRegex(complaint, "[\x1b\u202e]")

    def test_the_other_programs_run(self) -> None:
        for program in blocks("python")[1:]:
            process = self.start(program)
            output, complaint = process.communicate(timeout=SECONDS)
            self.assertEqual((process.returncode, complaint), (0, ""), program)
            self.assertTrue(output)

    def test_the_manifest_names_the_plugin(self) -> None:
        manifest = json.loads(blocks("json")[0])
        self.assertIn(f'plugboard.run("{manifest["name"]}"', blocks("python")[0])


class FileTests(unittest.TestCase):
    text = (FOLDER / "plugboard.py").read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 9))

    def test_it_needs_only_the_standard_library(self) -> None:
        names = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add((node.module or "").split(".")[0])
        known = getattr(sys, "stdlib_module_names", names)
        self.assertLessEqual(names, {*known, "__future__"})

    def test_no_function_is_long(self) -> None:
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        for node in ast.walk(self.tree):
            if isinstance(node, functions) and node.end_lineno:
                self.assertLessEqual(node.end_lineno - node.lineno, 70, node.name)

    def test_every_public_name_says_what_it_is(self) -> None:
        for name in plugboard.__all__:
            thing = getattr(plugboard, name)
            self.assertTrue(thing.__doc__, name)
            if isinstance(thing, type):
                for part, member in vars(thing).items():
                    if callable(member) and not part.startswith("_"):
                        self.assertTrue(member.__doc__, f"{name}.{part}")

    def test_the_twin_has_every_operation(self) -> None:
        def operations(kind: type) -> Set[str]:
            return {name for name in vars(kind) if not name.startswith("_")}

        self.assertLessEqual(operations(plugboard.Bus), operations(plugboard.BlockingBus))

    def test_every_operation_of_the_protocol_is_there(self) -> None:
        schema = json.loads((FOLDER.parent / "schema.json").read_text(encoding="utf-8"))
        operations = {name.split(".")[1] for name in schema["$defs"] if name.startswith("request.")}
        self.assertGreater(len(operations), 20)
        elsewhere = {
            "unsubscribe": plugboard.Subscription.close,
            "unserve": plugboard.Serving.close,
            "return": plugboard.CallError,
        }
        self.assertEqual({name for name in operations if not hasattr(plugboard.Bus, name)}, set(elsewhere))


class PackageTests(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="pb")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_python(self, *arguments: str, executable: str = sys.executable) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        process = subprocess.run(
            [executable, *arguments],
            env={**environment, "PYTHONPATH": self.folder},
            cwd=self.folder,
            timeout=3 * SECONDS,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(process.returncode, 0, process.stdout)
        return process.stdout

    def test_the_wheel_has_what_it_lists(self) -> None:
        name = package.build_wheel(self.folder)
        self.assertEqual(name, f"plugboard-{plugboard.__version__}-py3-none-any.whl")
        with zipfile.ZipFile(Path(self.folder, name)) as wheel:
            files = {entry: wheel.read(entry) for entry in wheel.namelist()}
        about = f"plugboard-{plugboard.__version__}.dist-info"
        listed = files.pop(f"{about}/RECORD").decode().split("\n")
        self.assertEqual(listed[-2:], [f"{about}/RECORD,,", ""])
        for path, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            self.assertIn(f"{path},sha256={digest},{len(content)}", listed)
        self.assertEqual(len(files), len(listed) - 2)
        self.assertEqual(files["plugboard/__init__.py"], (FOLDER / "plugboard.py").read_bytes())
        self.assertIn(b"\nRequires-Python: >=3.9\n", files[f"{about}/METADATA"])

    def test_the_sources_make_the_same_wheel(self) -> None:
        sources = Path(self.folder, "sources")
        sources.mkdir()
        with tarfile.open(Path(self.folder, package.build_sdist(self.folder))) as archive:
            for member in archive:
                content = archive.extractfile(member)
                assert content
                (sources / Path(member.name).name).write_bytes(content.read())
        script = "import sys; sys.path[:0] = sys.argv[1:]; import package; print(package.build_wheel('.'))"
        made = self.run_python("-c", script, str(sources))
        with tempfile.TemporaryDirectory() as other:
            self.assertEqual(
                Path(self.folder, made.strip()).read_bytes(),
                Path(other, package.build_wheel(other)).read_bytes(),
            )

    def test_an_editable_wheel_names_this_folder(self) -> None:
        name = package.build_editable(self.folder)
        with zipfile.ZipFile(Path(self.folder, name)) as wheel:
            files = {entry: wheel.read(entry) for entry in wheel.namelist()}
        about = f"plugboard-{plugboard.__version__}.dist-info"
        self.assertEqual(files["plugboard.pth"], f"{FOLDER}\n".encode())
        self.assertEqual(
            sorted(files),
            sorted([*(f"{about}/{part}" for part in ("METADATA", "RECORD", "WHEEL")), "plugboard.pth"]),
        )

    @unittest.skipUnless(
        importlib.util.find_spec("pip") and importlib.util.find_spec("venv"), "there is no pip"
    )
    def test_pip_installs_it_to_be_edited(self) -> None:
        self.run_python("-m", "venv", "--system-site-packages", "--without-pip", "v")
        python = str(Path(self.folder, "v", "bin", "python"))
        options = ["--quiet", "--no-index", "--no-cache-dir", "--disable-pip-version-check"]
        self.run_python("-m", "pip", "install", *options, "-e", str(FOLDER), executable=python)
        found = self.run_python("-c", "import plugboard; print(plugboard.__file__)", executable=python)
        self.assertEqual(found.strip(), str(FOLDER / "plugboard.py"))
        self.run_python("-m", "pip", "uninstall", "--quiet", "--yes", "plugboard", executable=python)
        script = "import importlib.util; print(importlib.util.find_spec('plugboard'))"
        self.assertEqual(self.run_python("-c", script, executable=python).strip(), "None")

    @unittest.skipUnless(importlib.util.find_spec("pip"), "there is no pip")
    def test_pip_installs_it_without_a_network(self) -> None:
        options = [
            "--quiet",
            "--no-index",
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--target",
            self.folder,
        ]
        self.run_python("-m", "pip", "install", *options, str(FOLDER))
        found = self.run_python("-c", "import plugboard; print(plugboard.__file__, plugboard.__version__)")
        self.assertEqual(found.split(), [f"{self.folder}/plugboard/__init__.py", plugboard.__version__])
        self.assertTrue(Path(self.folder, "plugboard", "py.typed").exists())
        self.assertFalse(list(FOLDER.glob("build")) + list(FOLDER.glob("*.egg-info")))
