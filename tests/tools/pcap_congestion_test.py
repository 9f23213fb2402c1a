#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ECN marks, CNPs and telemetry in captures of `rnicsim run --pcap`, as tshark and scapy read them."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from scapy.all import Ether
from scapy.contrib.roce import BTH

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from roce_wire import read_pcapng

PROGRAM = os.path.abspath(os.environ.get("RNICSIM", "build/release/rnicsim"))
NOT_CAPABLE, CAPABLE, CONGESTION = "0", "2", "3"
CNP = 0x81

SCENARIO = """{
  "title": "two into one",
  "hosts": [ { "name": "A" }, { "name": "B" }, { "name": "C" } ],
  "fabric": {
    "topology": "star",
    "switch": { "egress": { "ecn": [
      { "priority": 3, "kmin": "16 KiB", "kmax": "32 KiB", "pmax": 1 } ] } }
  },
  "workload": [ { "name": "w", "pattern": "incast", "to": "C", "size": "1 MiB" } ],
  "variants": [
    { "name": "dcqcn", "set": { "hosts.*.nic.congestion_control.algorithm": "dcqcn" } },
    { "name": "hpcc", "set": { "hosts.*.nic.congestion_control.algorithm": "hpcc" } }
  ]
}
"""


class Congestion(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        (self.folder / "x.json").write_text(SCENARIO, encoding="utf-8")

    def run_variant(self, variant):
        """Metrics, and the capture's path."""
        done = subprocess.run([PROGRAM, "run", "x.json", "--variant", variant, "--json", "--pcap",
                               "c.pcapng"], cwd=self.folder, text=True, capture_output=True,
                              timeout=300, check=True)
        metrics = json.loads(done.stdout)["runs"][0]["metrics"]
        return ({name: metric["value"] for name, metric in metrics.items()},
                self.folder / "c.pcapng")

    @staticmethod
    def tshark(path):
        fields = ("frame.interface_name", "frame.packet_flags_direction", "ip.dsfield.ecn",
                  "ip.dsfield.dscp", "infiniband.bth.opcode", "ip.dst", "frame.time_epoch",
                  "_ws.expert.message")
        command = ["tshark", "-r", str(path), "-T", "fields", "-E", "occurrence=f"]
        for field in fields:
            command += ["-e", field]
        lines = subprocess.run(command, capture_output=True, text=True,
                               check=True).stdout.splitlines()
        return [line.split("\t") for line in lines]

    def test_tshark_reads_marks_and_cnps(self):
        metrics, path = self.run_variant("dcqcn")
        rows = [row for row in self.tshark(path) if row[4]]
        self.assertEqual({row[7] for row in rows}, {""})
        sent = [row for row in rows if row[0] in ("host.A.nic0", "host.B.nic0")
                and row[1] == "0x00000002"]
        self.assertEqual({(row[2], row[3]) for row in sent}, {(CAPABLE, "26")})
        came = [row for row in rows if row[0] == "host.C.nic0" and row[1] == "0x00000001"]
        marked = [row for row in came if row[2] == CONGESTION]
        self.assertEqual({row[2] for row in came}, {CAPABLE, CONGESTION})
        self.assertEqual(len(marked),
                         metrics["host.C.nic0.congestion_control.np_ecn_marked_roce_packets"])
        cnps = [row for row in rows if row[0] == "host.C.nic0" and int(row[4], 0) == CNP]
        self.assertGreater(len(cnps), 2)
        self.assertEqual(len(cnps), metrics["host.C.nic0.congestion_control.np_cnp_sent"])
        self.assertEqual({(row[2], row[3]) for row in cnps}, {(NOT_CAPABLE, "48")})
        for host, address in (("A", "10.0.0.1"), ("B", "10.0.0.2")):
            times = [float(row[6]) for row in cnps if row[5] == address]
            self.assertTrue(all(b - a > 49.9e-6 for a, b in zip(times, times[1:])))
            handled = metrics[f"host.{host}.nic0.congestion_control.rp_cnp_handled"]
            self.assertEqual(len(times), handled)

    def test_scapy_reads_becn_in_a_cnp_and_computes_its_icrc(self):
        _, packets = read_pcapng(self.run_variant("dcqcn")[1].read_bytes())
        frames = [Ether(packet["frame"]) for packet in packets]
        cnps = [frame for frame in frames if BTH in frame and frame[BTH].opcode == CNP]
        self.assertGreater(len(cnps), 4)
        for frame in cnps:
            self.assertEqual((frame[BTH].becn, frame[BTH].fecn, frame[BTH].psn), (1, 0, 0))
            sent = frame[BTH].icrc
            del frame[BTH].icrc
            self.assertEqual(Ether(bytes(frame))[BTH].icrc, sent)

    def test_telemetry_stands_behind_the_ip_packet_and_grows_by_a_record_a_hop(self):
        _, packets = read_pcapng(self.run_variant("hpcc")[1].read_bytes())
        records = {}
        for packet in packets:
            frame = packet["frame"]
            if frame[12:14] != b"\x08\x00" or frame[42] != 0x07:  # WRITE middle
                continue
            trailer = frame[14 + int.from_bytes(frame[16:18], "big"):]
            records.setdefault(packet["interface"], []).append(trailer)
        self.assertEqual(sorted(records), [0, 1, 2])
        self.assertEqual({bytes(t) for i in (0, 1) for t in records[i]}, {b"\x00\x00"})
        self.assertEqual({(len(t), t[:2]) for t in records[2]}, {(10, b"\x10\x00")})
        self.assertEqual({t[2] >> 4 for t in records[2]}, {10}, "100 Gb/s")
        self.assertTrue(any(t[8:10] != b"\x00\x00" for t in records[2]), "something waited")


if __name__ == "__main__":
    unittest.main()
