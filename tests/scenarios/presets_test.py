#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every value that a shipped preset gives has a source of its own, few of them are calibrated, and
`rnicsim show` can read it together with its base."""
import json
import os
import pathlib
import subprocess
import sys

PRESETS = pathlib.Path(__file__).resolve().parent.parent.parent / "scenarios" / "presets"
MOST_CALIBRATED = 6


def leaves(node, path=""):
    if not isinstance(node, dict):
        yield path
        return
    for key, value in node.items():
        yield from leaves(value, f"{path}.{key}" if path else key)


def has_source(path, sources):
    parts = path.split(".")
    return any(".".join(parts[:n]) in sources for n in range(len(parts), 0, -1))


def problems(file):
    preset = json.loads(file.read_text())
    sources = preset["sources"]
    for path in leaves(preset["values"]):
        if not has_source(path, sources):
            yield f"{path} has no source"
    calibrated = [path for path, text in sources.items() if text.startswith("calibrated")]
    if len(calibrated) > MOST_CALIBRATED:
        yield f"{len(calibrated)} calibrated values: {', '.join(calibrated)}"
    shown = subprocess.run([os.environ["RNICSIM"], "show", f"{file.parent.name}/{file.stem}"],
                           capture_output=True, text=True, check=False)
    if shown.returncode != 0 or preset["title"] not in shown.stdout:
        yield f"rnicsim show: exit {shown.returncode}: {shown.stderr}"


def main():
    # The judge must be able to say no.
    if has_source("a.b", {"a.c": ""}) or list(leaves({"a": {"b": 1, "c": 2}})) != ["a.b", "a.c"]:
        sys.exit("the judge is broken")
    files = sorted(PRESETS.glob("*/*.json"))
    found = [f"{file.relative_to(PRESETS)}: {text}" for file in files for text in problems(file)]
    if len(files) < 30:
        found.append(f"only {len(files)} presets were checked")
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
