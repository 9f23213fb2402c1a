#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rnicsim import from the outside: the presets that it writes load and decide a run."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]
SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "fuzz/corpus/listing"
LISTINGS = [str(SAMPLES / name) for name in
            ("lspci.txt", "ibv_devinfo.txt", "nccl_topology.xml", "nvidia_topo.txt")]


def rnicsim(*arguments, **more):
    result = subprocess.run([RNICSIM, *arguments], capture_output=True, text=True, check=False,
                            **more)
    return result.returncode, result.stdout, said(result.stderr)


class Import(unittest.TestCase):
    def test_presets_go_to_stdout_and_what_was_not_learned_to_stderr(self):
        status, out, err = rnicsim("import", LISTINGS[0])
        self.assertEqual(status, 0)
        presets = json.loads(out)
        self.assertEqual(sorted(presets), ["host/imported.json", "nic/imported.json"])
        self.assertEqual(presets["host/imported.json"]["values"]["pcie"]["max_read_request"],
                         "1024 B")
        self.assertIn("not learned: link rate; default 100 Gb/s\n", err)

    def test_a_scenario_beside_the_presets_runs_with_them(self):
        with tempfile.TemporaryDirectory() as folder:
            status, out, _ = rnicsim("import", *LISTINGS, "--name", "my-host", "--out", folder)
            self.assertEqual((status, out), (0, ""))
            machine = {"preset": "my-host", "nic": {"preset": "my-host"}}
            scenario = {"hosts": [{"name": "A", **machine}, {"name": "B", **machine}],
                        "fabric": {"link": {"preset": "my-host"}},
                        "workload": [{"name": "w0", "from": "A", "to": "B", "size": "64 KiB",
                                      "count": 200}]}
            file = pathlib.Path(folder) / "run.json"
            file.write_text(json.dumps(scenario))
            status, out, err = rnicsim("run", str(file), "--json")
            self.assertEqual((status, err), (0, ""))
        run = json.loads(out)["runs"][0]
        self.assertEqual(run["configuration"]["hosts"][0]["pcie"]["trained"]["lanes"], 8)
        # Gen3 x8 carries about 53 Gb/s of payload in TLPs of 256 B, under a wire of 100 Gb/s.
        goodput = run["metrics"]["workload.w0.goodput"]["value"]
        self.assertTrue(50e9 < goodput < 58e9, goodput)
        self.assertIn(".pcie.", run["bottlenecks"][0]["resource"])

    def test_a_choice_that_no_listing_offers_is_refused(self):
        lspci, ibv_devinfo, nccl, nvidia = LISTINGS
        status, out, err = rnicsim("import", lspci, "--hca", "mlx5_0")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("--hca mlx5_0: chooses in a listing other than lspci's, and no FILE is one",
                      err)
        for listing in (ibv_devinfo, nccl, nvidia):
            status, out, err = rnicsim("import", listing, "--device", "5e:00.0")
            self.assertEqual((status, out), (2, ""))
            self.assertIn("--device 5e:00.0: chooses in what lspci prints, and no FILE is one", err)
        self.assertEqual(rnicsim("import", ibv_devinfo, lspci, "--device", "5e:00.0",
                                 "--hca", "mlx5_0")[0], 0)

    def test_bad_listings_are_input_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "l.txt"
            file.write_text("5e:00.0 Ethernet controller: M\n\tCapabilities: <access denied>\n")
            status, out, err = rnicsim("import", "l.txt", cwd=folder)
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err, 'l.txt:2: expected "LnkCap:" of 5e:00.0, as lspci -vv prints it for '
                              'root, found Capabilities: <access denied>\n')
        self.assertEqual(rnicsim("import", "nowhere.txt"),
                         (2, "", "nowhere.txt: expected a file, found nothing of that name\n"))
        self.assertEqual(rnicsim("import")[0], 2)
        self.assertEqual(rnicsim("import", LISTINGS[0], "--name", "../x")[0], 2)


if __name__ == "__main__":
    unittest.main()
