#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures of workloads over TCP: tshark reads clean streams in them, with all their bytes."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from sanitizer_notes import said

PROGRAM = os.path.abspath(os.environ.get("RNICSIM", "build/release/rnicsim"))

SCENARIO = """{
  "title": "a test",
  "hosts": [ { "name": "A" }, { "name": "B" } ],
  "workload": [ { "name": "w0", "transport": "tcp", "from": "A", "to": "B", "size": "100000 B",
                  "count": 5, "tcp": { "response": "3000 B" } } ],
  "variants": [
    { "name": "loss", "title": "of one segment in fifty",
      "set": { "fabric.link.faults": [ { "kind": "drop", "direction": "forward", "every": 50 } ] } }
  ]
}
"""


class TcpCapture(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        (self.folder / "x.json").write_text(SCENARIO, encoding="utf-8")

    def capture(self, variant, port):
        path = self.folder / f"{variant}.pcapng"
        done = subprocess.run([PROGRAM, "run", "x.json", "--variant", variant, "--quiet", "--pcap",
                               str(path), "--pcap-port", port], cwd=self.folder, text=True,
                              capture_output=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout, said(done.stderr)), (0, "", ""))
        return path

    def tshark(self, path, *arguments):
        command = ["tshark", "-r", str(path), "-o", "tcp.check_checksum:TRUE",
                   "-o", "ip.check_checksum:TRUE", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def fields(self, path, shown, *names):
        arguments = ["-Y", shown, "-T", "fields"]
        for name in names:
            arguments += ["-e", name]
        return [line.split("\t") for line in self.tshark(path, *arguments).splitlines()]

    def followed(self, path):
        """Bytes of the one stream, from the client and from the server."""
        text = self.tshark(path, "-q", "-z", "follow,tcp,raw,0")
        rows = [row for row in text.splitlines() if row.strip("\t") and
                set(row.strip("\t")) <= set("0123456789abcdef")]
        client = "".join(row for row in rows if not row.startswith("\t"))
        server = "".join(row.strip("\t") for row in rows if row.startswith("\t"))
        return len(client) // 2, len(server) // 2

    def test_a_stream_has_no_remark_and_every_checksum_is_right(self):
        path = self.capture("base", "host.B.nic0")
        for unwanted in ("tcp.analysis.flags && !tcp.analysis.window_update",
                         "!(tcp.checksum.status == 1) || !(ip.checksum.status == 1)",
                         "_ws.malformed || !tcp"):
            self.assertEqual(self.fields(path, unwanted, "frame.number"), [], unwanted)
        self.assertEqual(self.followed(path), (500000, 15000))

    def test_it_begins_with_a_handshake_and_ends_with_both_sides_closed(self):
        path = self.capture("base", "host.A.nic0")
        flags = [row[0] for row in self.fields(path, "tcp", "tcp.flags.str")]
        marks = ["".join(flag for flag in text if flag.isalpha()) for text in flags]
        self.assertEqual(marks[:3], ["S", "AS", "A"])
        self.assertEqual(sum("F" in mark for mark in marks), 2)
        self.assertFalse(any("R" in mark for mark in marks))

    def test_lost_segments_are_seen_as_lost_and_sent_again_and_the_stream_is_whole(self):
        path = self.capture("loss", "host.B.nic0")
        for seen in ("tcp.options.sack_le", "tcp.analysis.duplicate_ack",
                     "tcp.analysis.out_of_order || tcp.analysis.retransmission"):
            self.assertNotEqual(self.fields(path, seen, "frame.number"), [], seen)
        self.assertEqual(self.followed(path), (500000, 15000))


if __name__ == "__main__":
    unittest.main()
