#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The schemas in scenarios/schema are what the program describes, and every shipped file obeys them.

RNICSIM_UPDATE=1 (tools/test --update) writes the schemas again instead.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent.parent / "scenarios"
RNICSIM = os.environ["RNICSIM"]


def generate(folder):
    subprocess.run([RNICSIM, "schema", "--out", str(folder)], check=True, capture_output=True)


def validator_of(name):
    schema = json.loads((SCENARIOS / "schema" / f"{name}.schema.json").read_text())
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    return validator(schema)


def problems(path, validator):
    for error in validator.iter_errors(json.loads(path.read_text())):
        yield f"{path.relative_to(SCENARIOS)}: {error.json_path}: {error.message}"


def main():
    shipped = SCENARIOS / "schema"
    if os.environ.get("RNICSIM_UPDATE") == "1":
        generate(shipped)
        return
    found = []
    with tempfile.TemporaryDirectory() as folder:
        generate(folder)
        for made in sorted(pathlib.Path(folder).iterdir()):
            here = shipped / made.name
            if not here.exists() or here.read_text() != made.read_text():
                found.append(f"schema/{made.name} is not what the program describes")
    files = 0
    scenario = validator_of("scenario")
    for path in sorted(SCENARIOS.glob("*.json")) + sorted(SCENARIOS.glob("validation/*.json")) + \
            sorted(SCENARIOS.glob("bench/*.json")):
        files += 1
        found += problems(path, scenario)
    study = validator_of("study")
    for path in sorted(SCENARIOS.glob("studies/*.json")):
        files += 1
        found += problems(path, study)
    for kind in ("host", "nic", "switch", "link", "congestion_control"):
        preset = validator_of(f"{kind}_preset")
        for path in sorted(SCENARIOS.glob(f"presets/{kind}/*.json")):
            files += 1
            found += problems(path, preset)
    # The judge must be able to say no.
    broken = json.loads((SCENARIOS / "write_8step.json").read_text())
    broken["hosts"][0]["nic"]["clok"] = "1 GHz"
    if not list(scenario.iter_errors(broken)):
        found.append("an unknown key passes the schema")
    if files < 10:
        found.append(f"only {files} files were checked")
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
