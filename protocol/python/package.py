"""Makes what `pip install` installs, with the standard library alone, so that it works without a network.

The file becomes a package with a `py.typed`, because only a package can say that it is typed. These are the
functions that PEP 517 and, for `pip install -e`, PEP 660 ask for.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict

FOLDER = Path(__file__).resolve().parent
SUMMARY = "The Python client of Plugboard, a message bus for the programs of one machine"
SOURCES = ["plugboard.py", "package.py", "pyproject.toml", "README.md"]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Writes the wheel, and returns its name."""
    return write_wheel(
        wheel_directory, {"plugboard/__init__.py": text("plugboard.py"), "plugboard/py.typed": b""}
    )


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Writes a wheel that only says where the sources are, and returns its name."""
    return write_wheel(wheel_directory, {"plugboard.pth": os.fsencode(FOLDER) + b"\n"})


def write_wheel(wheel_directory: str, modules: Dict[str, bytes]) -> str:
    about = f"plugboard-{version()}.dist-info"
    files = {
        **modules,
        f"{about}/METADATA": metadata(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: plugboard\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = record(files, f"{about}/RECORD")
    name = f"plugboard-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            # Without a time, the same sources give the same wheel.
            wheel.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Writes the archive of the sources, and returns its name."""
    name = f"plugboard-{version()}"
    files = {**{source: text(source) for source in SOURCES}, "PKG-INFO": metadata()}
    with tarfile.open(Path(sdist_directory, f"{name}.tar.gz"), "w:gz") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return f"{name}.tar.gz"


def text(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def version() -> str:
    found = re.search(rb'^__version__ = "(.*)"$', text("plugboard.py"), re.MULTILINE)
    if not found:
        raise ValueError("plugboard.py has no version")
    return found[1].decode()


def metadata() -> bytes:
    lines = [
        "Metadata-Version: 2.1",
        "Name: plugboard",
        f"Version: {version()}",
        f"Summary: {SUMMARY}",
        "Requires-Python: >=3.9",
        "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines).encode() + b"\n\n" + text("README.md")


def record(files: Dict[str, bytes], own_path: str) -> bytes:
    """The list of the files and their digests."""
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{own_path},,\n"]).encode()
