#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures of `rnicsim run --pcap`: what tshark and scapy read in them, and which files there are."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from scapy.all import Ether
from scapy.contrib.roce import BTH

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from roce_wire import read_pcapng
from sanitizer_notes import said

PROGRAM = os.path.abspath(os.environ.get("RNICSIM", "build/release/rnicsim"))
ROOT = pathlib.Path(__file__).resolve().parents[2]
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE = 0x06, 0x07, 0x08, 0x11

SCENARIO = """{
  "title": "a test",
  "hosts": [ { "name": "A" }, { "name": "B" } ],
  "workload": [ { "name": "w0", "from": "A", "to": "B", "size": "4 KiB" } ],
  "variants": [ { "name": "small", "set": { "workload.w0.size": "64 B" } } ]
}
"""


def rnicsim(*arguments, cwd=None):
    return subprocess.run([PROGRAM, *arguments], cwd=cwd or ROOT, text=True, capture_output=True,
                          timeout=300, check=False)


def tshark(path, *fields):
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "occurrence=f"]
    for field in fields:
        command += ["-e", field]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("\t") for line in lines]


class Capture(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        (self.folder / "x.json").write_text(SCENARIO, encoding="utf-8")

    def run_here(self, *arguments):
        done = rnicsim(*arguments, cwd=self.folder)
        return done.returncode, done.stdout, said(done.stderr)

    def files(self):
        return sorted(path.name for path in self.folder.iterdir() if path.name != "x.json")

    def capture(self, *arguments):
        path = self.folder / "c.pcapng"
        done = rnicsim("run", *arguments, "--quiet", "--pcap", str(path))
        self.assertEqual((done.returncode, done.stdout, said(done.stderr)), (0, "", ""))
        return path


class EightSteps(Capture):
    def rdma(self, *arguments):
        """Without the packets of the control channel."""
        return self.capture("write_8step", "--set", "workload.0.control=fixed", *arguments)

    def test_tshark_reads_the_message_at_both_ports(self):
        path = self.rdma()
        rows = tshark(path, "frame.interface_name", "frame.packet_flags_direction", "ip.src",
                      "infiniband.bth.opcode", "infiniband.bth.psn", "frame.protocols",
                      "_ws.expert.message")
        self.assertEqual({tuple(row[5].split(":")[:5]) for row in rows},
                         {("eth", "ethertype", "ip", "udp", "infiniband")})
        self.assertEqual({row[6] for row in rows}, {""})
        a, b = "10.0.0.1", "10.0.0.2"
        for port, source, direction in (("host.A.nic0", a, "2"), ("host.B.nic0", a, "1")):
            seen = [row for row in rows if row[:3] == [port, self.direction(direction), source]]
            codes = [int(row[3], 0) for row in seen]
            self.assertEqual(codes, [WRITE_FIRST] + 14 * [WRITE_MIDDLE] + [WRITE_LAST])
            psns = [int(row[4]) for row in seen]
            self.assertEqual(psns, [(psns[0] + i) % (1 << 24) for i in range(16)])
        acks = {port: [row for row in rows if row[0] == port and row[2] == b]
                for port in ("host.A.nic0", "host.B.nic0")}
        for port, direction in (("host.A.nic0", "1"), ("host.B.nic0", "2")):
            self.assertGreater(len(acks[port]), 0)
            self.assertEqual({(row[1], int(row[3], 0)) for row in acks[port]},
                             {(self.direction(direction), ACKNOWLEDGE)})
        self.assertEqual(len(rows), 2 * (16 + len(acks["host.A.nic0"])))

    @staticmethod
    def direction(code):
        return f"0x{int(code):08x}"

    def test_scapy_computes_every_icrc(self):
        _, packets = read_pcapng(self.rdma().read_bytes())
        self.assertGreater(len(packets), 32)
        for packet in packets:
            frame = Ether(packet["frame"])
            sent = frame[BTH].icrc
            del frame[BTH].icrc
            self.assertEqual(Ether(bytes(frame))[BTH].icrc, sent)

    def test_every_packet_arrives_as_it_left_15_ns_later_over_3_m(self):
        interfaces, packets = read_pcapng(self.rdma().read_bytes())
        self.assertEqual([interface[2] for interface in interfaces],
                         [b"host.A.nic0", b"host.B.nic0"])
        self.assertEqual([interface[9] for interface in interfaces], [b"\x0c", b"\x0c"])
        times = [packet["ps"] for packet in packets]
        self.assertEqual(times, sorted(times))
        for sender in (0, 1):
            left = [p for p in packets if p["interface"] == sender and p[2][0] == 2]
            came = [p for p in packets if p["interface"] == 1 - sender and p[2][0] == 1]
            self.assertGreater(len(left), 0)
            self.assertEqual([(p["ps"] + 15_000, p["frame"]) for p in left],
                             [(p["ps"], p["frame"]) for p in came])
        self.assertFalse([p for p in packets if 1 in p], "nothing is lost, so no comment")

    def test_tshark_shows_the_nanoseconds_of_the_time(self):
        path = self.rdma()
        _, packets = read_pcapng(path.read_bytes())
        shown = [row[0] for row in tshark(path, "frame.time_epoch")]
        self.assertEqual(shown, [f"{p['ps'] // 10**12}.{p['ps'] % 10**12 // 1000:09d}"
                                 for p in packets])

    def test_an_elided_payload_reads_zeros_and_has_the_same_headers_and_times(self):
        carried = read_pcapng(self.rdma().read_bytes())[1]
        elided = read_pcapng(self.rdma("--set", "engine.payload=elided").read_bytes())[1]
        self.assertEqual(len(carried), len(elided))
        zeros = 0
        for a, b in zip(carried, elided):
            self.assertEqual((a["ps"], a["frame"][:54]), (b["ps"], b["frame"][:54]))
            if b["frame"][42] == WRITE_MIDDLE:
                self.assertEqual(b["frame"][54:-4], bytes(4096))
                zeros += a["frame"] != b["frame"]
            frame = Ether(b["frame"])
            sent = frame[BTH].icrc
            del frame[BTH].icrc
            self.assertEqual(Ether(bytes(frame))[BTH].icrc, sent)
        self.assertEqual(zeros, 2 * 14)

    def test_one_port_alone(self):
        both = read_pcapng(self.rdma().read_bytes())[1]
        interfaces, packets = read_pcapng(
            self.rdma("--pcap-port", "host.B.*").read_bytes())
        self.assertEqual([interface[2] for interface in interfaces], [b"host.B.nic0"])
        self.assertEqual([p["frame"] for p in packets],
                         [p["frame"] for p in both if p["interface"] == 1])

    def test_tshark_reads_the_control_channel_as_a_clean_stream_of_tcp(self):
        path = self.capture("write_8step", "--pcap-port", "host.A.*")
        rows = tshark(path, "tcp.srcport", "tcp.flags", "tcp.len", "tcp.analysis.flags",
                      "_ws.expert.message", "frame.protocols")
        tcp = [row for row in rows if row[0]]
        self.assertEqual(len(rows) - len(tcp), 17, "the WRITE's packets and its acknowledgement")
        self.assertEqual({row[3] for row in tcp}, {""})
        syn, fin = 0x02, 0x01
        self.assertEqual([int(row[1], 0) & syn for row in tcp], [syn, syn] + (len(tcp) - 2) * [0])
        self.assertEqual(sum(int(row[1], 0) & fin for row in tcp), 2)
        # Both introduce themselves, and A says that it has finished; each with 4 B in front.
        self.assertEqual([(row[0] == "18515", int(row[2])) for row in tcp if row[2] != "0"],
                         [(False, 52), (True, 52), (False, 12)])


SWITCHED = """{
  "hosts": [ { "name": "h", "count": 3, "nic": { "port": { "vlan": 7 }, "congestion_control": { "algorithm": "dcqcn" } } } ],
  "fabric": {
    "topology": "star",
    "switch": {
      "priorities": { "from": "pcp" },
      "buffer": { "size": "512 KiB" },
      "egress": { "ecn": [ { "priority": 3, "kmin": "8 KiB", "kmax": "64 KiB" } ] }
    }
  },
  "workload": [ { "name": "w0", "pattern": "incast", "to": "h0", "size": "1 MiB" } ]
}
"""
PAUSE = 0x0101


class SwitchPorts(Capture):
    def switched(self, port):
        (self.folder / "y.json").write_text(SWITCHED, encoding="utf-8")
        return self.capture(str(self.folder / "y.json"), "--pcap-port", port)

    def test_tshark_reads_the_pause_frames_that_a_switch_sends(self):
        path = self.switched("fabric.switch0.port1")
        rows = tshark(path, "macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3",
                      "macc.cbfc.pause_time.c0", "eth.dst", "frame.packet_flags_direction",
                      "frame.interface_name", "frame.len")
        pauses = [row for row in rows if row[0] != ""]
        self.assertGreater(len(pauses), 1)
        for row in pauses:
            self.assertEqual([int(row[0], 0), int(row[1], 0), int(row[3], 0)], [PAUSE, 1 << 3, 0])
            self.assertEqual(row[4:], ["01:80:c2:00:00:01", "0x00000002",
                                       "fabric.switch0.port1", "60"])
        self.assertEqual({int(row[2], 0) for row in pauses}, {0xFFFF, 0})
        self.assertEqual(int(pauses[0][2], 0), 0xFFFF)
        self.assertEqual(int(pauses[-1][2], 0), 0)

    def test_tshark_reads_tags_and_marks_before_and_behind_the_queue(self):
        shown = {}
        for port in ("fabric.switch0.port1", "fabric.switch0.port0"):
            rows = tshark(self.switched(port), "vlan.id", "vlan.priority", "ip.dsfield.ecn",
                          "infiniband.bth.opcode", "frame.packet_flags_direction")
            data = [row for row in rows if row[3] != "" and int(row[3], 0) == WRITE_MIDDLE]
            self.assertGreater(len(data), 100)
            self.assertEqual({(row[0], row[1]) for row in data}, {("7", "3")})
            shown[port] = [(int(row[2], 0), row[4]) for row in data]
        self.assertEqual(set(shown["fabric.switch0.port1"]), {(2, "0x00000001")})
        self.assertEqual(set(shown["fabric.switch0.port0"]),
                         {(2, "0x00000002"), (3, "0x00000002")})

    def test_without_a_name_only_ports_of_nics_are_captured(self):
        (self.folder / "y.json").write_text(SWITCHED, encoding="utf-8")
        names = {row[0] for row in tshark(self.capture(str(self.folder / "y.json")),
                                          "frame.interface_name")}
        self.assertEqual(names, {"host.h0.nic0", "host.h1.nic0", "host.h2.nic0"})


class Files(Capture):
    def test_a_capture_changes_no_result_and_is_the_same_every_time(self):
        plain = self.run_here("run", "x.json", "--json")
        self.assertEqual(self.run_here("run", "x.json", "--json", "--pcap", "a.pcapng"), plain)
        first = {name: (self.folder / name).read_bytes() for name in self.files()}
        self.assertEqual(json.loads(plain[1])["format"], "rnicsim-result")
        self.assertEqual(sorted(first), ["a.x.pcapng", "a.x.small.pcapng"])
        self.assertEqual(self.run_here("run", "x.json", "--json", "--pcap", "a.pcapng",
                                       "--jobs", "1"), plain)
        self.assertEqual({name: (self.folder / name).read_bytes() for name in self.files()}, first)

    def test_one_run_has_the_name_that_was_given(self):
        self.assertEqual(self.run_here("run", "x.json", "-q", "--variant", "small", "--pcap", "c"),
                         (0, "", ""))
        self.assertEqual(self.files(), ["c"])

    def test_bad_use_is_one_line_and_no_file(self):
        for line, arguments in (
                ('--pcap-port: expected host.A.nic0 or host.B.nic0, found "C", which matches none',
                 ("--pcap", "c.pcapng", "--pcap-port", "C")),
                ("none/c.pcapng: cannot be written: No such file or directory",
                 ("--variant", "base", "--pcap", "none/c.pcapng")),
                (".: cannot be written: it is a folder", ("--variant", "base", "--pcap", ".")),
                ("c.x.pcapng: --pcap of x.json and --pcap of x.json would both write it",
                 ("x.json", "--pcap", "c.pcapng")),
                ("rnicsim run: --pcap-port goes with --pcap; rnicsim run --help says how",
                 ("--pcap-port", "*"))):
            self.assertEqual(self.run_here("run", "x.json", *arguments), (2, "", line + "\n"))
            self.assertEqual(self.files(), [])

    def test_an_interrupt_leaves_no_file(self):
        run = subprocess.Popen([PROGRAM, "run", "x.json", "--pcap", "c.pcapng", "--variant", "base",
                                "--set", "workload.0.count=1000000"], cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(300):
            if any(path.stat().st_size > 100_000 for path in self.folder.iterdir()):
                break
            time.sleep(0.1)
        self.assertEqual(len(self.files()), 1)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)
        self.assertEqual(run.returncode, 130)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
