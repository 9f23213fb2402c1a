#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file and folder that README.md names exists, and its picture is what the program prints.

RNICSIM_UPDATE=1 (tools/test --update) puts the picture in again instead.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`((?:model|host|nic|fabric|scenarios|tools|tests)/[\w/.]*)`")


PICTURE = re.compile(r"(<!-- BEGIN: output of write_8step -->\n).*?(<!-- END)", re.DOTALL)


def with_picture(text):
    """The README with what the program prints now, as a Markdown block."""
    shown = subprocess.run([os.environ["RNICSIM"], "run", "write_8step"], capture_output=True,
                           text=True, check=True).stdout
    block = "".join("    " + line + "\n" if line else "\n" for line in shown.splitlines())
    return PICTURE.sub(lambda match: match[1] + "\n" + block + "\n" + match[2], text)


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
    now = with_picture(text)
    if os.environ.get("RNICSIM_UPDATE") == "1":
        readme.write_text(now, encoding="utf-8")
    elif now != text:
        print("the output of write_8step in README.md is not what the program prints")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
