#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every status that a completion can have is raised by scenarios/completion_errors.json.

The list is model/verbs_types' own, so that a status which is added needs a scenario."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RNICSIM = os.environ["RNICSIM"]


def statuses():
    header = (ROOT / "model" / "verbs_types.h").read_text()
    enumerators = re.search(r"enum class CompletionStatus[^{]*\{(.*?)\}", header, re.S).group(1)
    source = (ROOT / "model" / "verbs_types.cpp").read_text()
    names = dict(re.findall(r'case CompletionStatus::(\w+):\s*return "([^"]*)";', source))
    return {names[enumerator].replace(" ", "_") for enumerator in re.findall(r"k\w+", enumerators)}


def raised():
    result = subprocess.run([RNICSIM, "run", ROOT / "scenarios" / "completion_errors.json", "--json",
                             "--jobs", "2"], capture_output=True, text=True, check=True)
    found = set()
    for run in json.loads(result.stdout)["runs"]:
        for path, metric in run["metrics"].items():
            status = re.fullmatch(r"workload\.w0\.(?:received\.)?completions\.(\w+)", path)
            if status and metric["value"] != 0:
                found.add(status.group(1))
    return found


wanted, found = statuses(), raised()
for name in sorted(wanted - found):
    print(f"{name}: no scenario raises it")
for name in sorted(found - wanted):
    print(f"{name}: not in the list of model/verbs_types")
sys.exit(wanted != found)
