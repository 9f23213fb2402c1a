#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file and folder that README.md names exists, and its pictures are what the program prints or
draws.

RNICSIM_UPDATE=1 (tools/test --update) puts the pictures in again instead.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`((?:model|host|nic|fabric|scenarios|tools|tests)/[\w/.]*)`")
DRAWING = re.compile(r"<!-- drawn by: (.*?) --svg (\S+) -->")
PICTURE = re.compile(r"(<!-- BEGIN: output of (.*?) -->\n).*?(<!-- END)", re.DOTALL)


def picture(match):
    """What the program prints now, as a Markdown block."""
    shown = subprocess.run([os.environ["RNICSIM"], *match[2].split()], capture_output=True,
                           text=True, check=True).stdout
    block = "".join("    " + line + "\n" if line else "\n" for line in shown.splitlines())
    return match[1] + "\n" + block + "\n" + match[3]


def stale_drawings(text, update):
    """Pictures in files that are not what the program draws now."""
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        drawn = pathlib.Path(folder) / "drawn.svg"
        for command, name in DRAWING.findall(text):
            subprocess.run([os.environ["RNICSIM"], *command.split(), "--svg", drawn], check=True)
            file = ROOT / name
            if update:
                file.write_bytes(drawn.read_bytes())
            elif not file.exists() or file.read_bytes() != drawn.read_bytes():
                stale.append(name)
    return stale


def exists(name):
    """A block is named without its ending."""
    return (ROOT / name).exists() or (ROOT / (name + ".h")).exists()


def main():
    names = sorted(set(NAMED.findall((ROOT / "README.md").read_text(encoding="utf-8"))))
    assert len(names) > 10, "README.md names no files: has its layout changed?"
    missing = [name for name in names if not exists(name)]
    for name in missing:
        print(f"README.md names {name}, which is not there")
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    assert len(PICTURE.findall(text)) > 1, "README.md has no pictures: has its layout changed?"
    assert DRAWING.search(text), "README.md shows no drawing: has its layout changed?"
    update = os.environ.get("RNICSIM_UPDATE") == "1"
    stale = stale_drawings(text, update)
    for name in stale:
        print(f"{name} is not what the program draws")
    now = PICTURE.sub(picture, text)
    if update:
        readme.write_text(now, encoding="utf-8")
    elif now != text:
        print("an output in README.md is not what the program prints")
        return 1
    return 1 if missing or stale else 0


if __name__ == "__main__":
    sys.exit(main())
