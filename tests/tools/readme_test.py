#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file and folder that README.md names exists."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`((?:model|host|nic|fabric|scenarios|tools|tests)/[\w/.]*)`")


def exists(name):
    """A block is named without its ending."""
    return (ROOT / name).exists() or (ROOT / (name + ".h")).exists()


def main():
    names = sorted(set(NAMED.findall((ROOT / "README.md").read_text(encoding="utf-8"))))
    assert len(names) > 10, "README.md names no files: has its layout changed?"
    missing = [name for name in names if not exists(name)]
    for name in missing:
        print(f"README.md names {name}, which is not there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
