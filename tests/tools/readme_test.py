#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file and folder that README.md names exists, and its pictures are what the program prints.

RNICSIM_UPDATE=1 (tools/test --update) puts the pictures in again instead.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`((?:model|host|nic|fabric|scenarios|tools|tests)/[\w/.]*)`")
PICTURE = re.compile(r"(<!-- BEGIN: output of (.*?) -->\n).*?(<!-- END)", re.DOTALL)


def picture(match):
    """What the program prints now, as a Markdown block."""
    shown = subprocess.run([os.environ["RNICSIM"], *match[2].split()], capture_output=True,
                           text=True, check=True).stdout
    block = "".join("    " + line + "\n" if line else "\n" for line in shown.splitlines())
    return match[1] + "\n" + block + "\n" + match[3]


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
    now = PICTURE.sub(picture, text)
    if os.environ.get("RNICSIM_UPDATE") == "1":
        readme.write_text(now, encoding="utf-8")
    elif now != text:
        print("an output in README.md is not what the program prints")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
