#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every opcode that a workload can cause, over each link layer, captured and judged.

tshark must find in a packet what support/roce_wire reads in its bytes and complain about nothing
but the zero UDP checksum of IPv6; scapy computes the ICRC of IPv4, zlib over masked bytes that of
all three.
"""
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
from roce_wire import (PROTOCOLS, ZERO_CHECKSUM, complaints, dissect, flatten, icrc, ip_length,
                       number, parse, read_pcapng, shape_of)
from sanitizer_notes import said

PROGRAM = os.path.abspath(os.environ.get("RNICSIM", "build/release/rnicsim"))
LONG, SHORT = "2555 B", "61 B"  # of path MTU 1024: first, middle, last with pad; only, with pad
RC_ACK, RC_ATOMIC_ACK = 0x11, 0x12

SCENARIO = {
    "hosts": [{"name": "A"}, {"name": "B"}],
    "fabric": {},
    "workload": [{"name": "w0", "from": "A", "to": "B", "count": 4, "queue_depth": 4,
                  "path_mtu": "1024 B", "ack_timeout": 4, "min_rnr_timer": 1}],
}
FABRICS = {"ipv4": {}, "ipv6": {"ip_version": "ipv6"}, "rocev1": {"link_layer": "rocev1"}}

# operation, transport, size, opcodes of requests and of data that come back; behind SENDs with
# invalidate a WRITE whose key is gone
MOVES = {
    "rc_write": ("write", "rc", LONG, {0x06, 0x07, 0x08}),
    "rc_write_only": ("write", "rc", SHORT, {0x0A}),
    "rc_write_imm": ("write_imm", "rc", LONG, {0x06, 0x07, 0x09}),
    "rc_write_imm_only": ("write_imm", "rc", SHORT, {0x0B}),
    "rc_send": ("send", "rc", LONG, {0x00, 0x01, 0x02}),
    "rc_send_only": ("send", "rc", SHORT, {0x04}),
    "rc_send_nothing": ("send", "rc", "0 B", {0x04}),
    "rc_send_imm": ("send_imm", "rc", LONG, {0x00, 0x01, 0x03}),
    "rc_send_imm_only": ("send_imm", "rc", SHORT, {0x05}),
    "rc_send_invalidate": ("send_invalidate", "rc", LONG, {0x00, 0x01, 0x16, 0x0A}),
    "rc_send_invalidate_only": ("send_invalidate", "rc", SHORT, {0x17, 0x0A}),
    "rc_read": ("read", "rc", LONG, {0x0C, 0x0D, 0x0E, 0x0F}),
    "rc_read_only": ("read", "rc", SHORT, {0x0C, 0x10}),
    "rc_compare_swap": ("compare_swap", "rc", "8 B", {0x13}),
    "rc_fetch_add": ("fetch_add", "rc", "8 B", {0x14}),
    "uc_write": ("write", "uc", LONG, {0x26, 0x27, 0x28}),
    "uc_write_only": ("write", "uc", SHORT, {0x2A}),
    "uc_write_imm": ("write_imm", "uc", LONG, {0x26, 0x27, 0x29}),
    "uc_write_imm_only": ("write_imm", "uc", SHORT, {0x2B}),
    "uc_send": ("send", "uc", LONG, {0x20, 0x21, 0x22}),
    "uc_send_only": ("send", "uc", SHORT, {0x24}),
    "uc_send_imm": ("send_imm", "uc", LONG, {0x20, 0x21, 0x23}),
    "uc_send_imm_only": ("send_imm", "uc", SHORT, {0x25}),
    "ud_send": ("send", "ud", SHORT, {0x64}),
    "ud_send_imm": ("send_imm", "ud", SHORT, {0x65}),
}
# All of RC, UC and UD.
OPCODES = {*range(0x15), 0x16, 0x17, *range(0x20, 0x2C), 0x64, 0x65}


def fault(kind, **selection):
    return {"fabric.link.faults": [{"kind": kind, "direction": "forward", **selection}]}


# what to set, syndrome of an answer, comment, metric that counts the comments
SECOND = {"first": 2, "count": 1}
TROUBLES = {
    "refused": ({"workload.w0.fault": "wrong_key"}, 0x62, None, None),
    "not_ready": ({"workload.w0.operation": "send", "workload.w0.receiver_delay": "100 us"},
                  0x20 | 1, None, None),
    "lost": (fault("drop", **SECOND), 0x60, "dropped on the link",
             "fabric.link0.forward.faults.dropped"),
    "down": (fault("down", **{"from": "0 ns", "until": "150 us"}), None,
             "dropped: the link was down", "fabric.link0.forward.faults.dropped"),
    "wrong_icrc": (fault("corrupt_icrc", **SECOND), 0x60, "dropped: wrong ICRC",
                   "host.B.nic0.port.rx_icrc_errors"),
    "wrong_fcs": (fault("corrupt_fcs", **SECOND), 0x60, "dropped: wrong FCS",
                  "host.B.nic0.port.rx_crc_errors"),
    "twice": (fault("duplicate", **SECOND), 0x1F, None, None),
    "lost_answer": (dict(fault("drop", **SECOND), **{"workload.w0.operation": "read"}), None,
                    "dropped on the link", "fabric.link0.forward.faults.dropped"),
}


def scenario(fabric, troubles):
    variants = []
    for name, (operation, transport, size, _) in MOVES.items():
        variants.append({"name": name, "set": {
            "workload.w0.operation": operation, "workload.w0.transport": transport,
            "workload.w0.size": size}})
    for name, (changes, *_) in troubles.items():
        variants.append({"name": name, "set": {"workload.w0.size": LONG, **changes}})
    return json.dumps(dict(SCENARIO, fabric=fabric, variants=variants))


class Judged:
    """The runs of one link layer: metrics, and packets with what tshark says of them."""

    def __init__(self, fabric, troubles):
        self.metrics, self.packets, self.layers = {}, {}, {}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "x.json").write_text(scenario(fabric, troubles), encoding="utf-8")
            done = subprocess.run([PROGRAM, "run", "x.json", "--json", "--pcap", "c.pcapng"],
                                  cwd=folder, text=True, capture_output=True, timeout=300,
                                  check=False)
            assert done.returncode == 0 and said(done.stderr) == "", done.stderr
            for run in json.loads(done.stdout)["runs"]:
                self.metrics[run["variant"]] = {path: metric["value"]
                                                for path, metric in run["metrics"].items()}
            data = b""
            for variant in (*MOVES, *troubles):
                part = (folder / f"c.x.{variant}.pcapng").read_bytes()
                self.packets[variant] = read_pcapng(part)[1]
                data += part
            (folder / "all.pcapng").write_bytes(data)  # sections of one file
            layers = iter(dissect(folder / "all.pcapng"))
            for variant, packets in self.packets.items():
                self.layers[variant] = [next(layers) for _ in packets]
            assert next(layers, None) is None


def judge(shape, packet, layers):
    """What is wrong with a packet, in words."""
    frame = packet["frame"]
    wrong = []
    if shape_of(frame) != shape:
        return [f"is {shape_of(frame)}"]
    fields = flatten(layers, {})
    read = parse(frame)
    found = complaints(layers)
    # It lists the packet's own comment too.
    allowed = [packet[1].decode()] if 1 in packet else []
    if found != allowed + ([ZERO_CHECKSUM] if shape == "ipv6" else []):
        wrong.append(f"tshark: {found}")
    protocols = fields["frame.protocols"].split(":")[:len(PROTOCOLS[shape])]
    if protocols != PROTOCOLS[shape]:
        wrong.append(f"protocols {protocols}")
    if shape == "ipv4" and fields["ip.checksum.status"] != "1":
        wrong.append("IPv4 checksum")
    for name, value in read.items():
        if name not in ("payload", "icrc") and number(fields.get("infiniband." + name)) != value:
            wrong.append(f"{name} {value}, for tshark {fields.get('infiniband.' + name)}")
    damaged = packet.get(1) == b"dropped: wrong ICRC"
    if (read["icrc"] == icrc(frame)) == damaged:
        wrong.append(f"ICRC {read['icrc'].hex()}, computed {icrc(frame).hex()}")
    if shape == "ipv4":
        sent = Ether(frame[:14 + ip_length(frame)])  # it would take Ethernet's padding for payload
        computed = sent.copy()
        del computed[BTH].icrc
        if (Ether(bytes(computed))[BTH].icrc == sent[BTH].icrc) == damaged:
            wrong.append("ICRC for scapy")
    return wrong


class LinkLayer:
    """What must hold over each; `shape` and `runs` come from the subclass."""

    def opcodes_in(self, variant):
        return {parse(packet["frame"])["bth.opcode"] for packet in self.runs.packets[variant]}

    def test_every_packet_is_what_the_specification_says(self):
        count = 0
        for variant, packets in self.runs.packets.items():
            for index, packet in enumerate(packets):
                count += 1
                wrong = judge(self.shape, packet, self.runs.layers[variant][index])
                self.assertEqual(wrong, [], f"{variant}, packet {index + 1}")
        self.assertGreater(count, 500)

    def test_every_opcode_is_there(self):
        seen = set()
        for variant, (operation, transport, _, requests) in MOVES.items():
            expected = set(requests)
            if operation in ("compare_swap", "fetch_add"):
                expected.add(RC_ATOMIC_ACK)
            elif transport == "rc" and operation != "read":
                expected.add(RC_ACK)
            self.assertEqual(self.opcodes_in(variant), expected, variant)
            seen |= expected
        self.assertEqual(seen, OPCODES)

    def test_answers_and_comments_say_what_went_wrong(self):
        for variant, (_, syndrome, comment, metric) in TROUBLES.items():
            packets = self.runs.packets[variant]
            answers = {parse(packet["frame"]).get("aeth.syndrome") for packet in packets}
            if syndrome is not None:
                self.assertIn(syndrome, answers, variant)
            comments = [packet[1].decode() for packet in packets if 1 in packet]
            dropped = self.runs.metrics[variant][metric] if metric else 0
            self.assertEqual(comments, [comment] * dropped, variant)
            self.assertEqual(dropped > 0, comment is not None, variant)

    def test_what_was_lost_is_sent_again(self):
        for variant in ("not_ready", "lost", "down", "wrong_icrc", "wrong_fcs", "lost_answer"):
            left = [parse(packet["frame"])["bth.psn"] for packet in self.runs.packets[variant]
                    if packet["interface"] == 0 and packet[2][0] == 2]
            self.assertGreater(len(left), len(set(left)), variant)
            self.assertEqual(self.runs.metrics[variant]["workload.w0.completed"], 4, variant)
            self.assertEqual(self.runs.metrics[variant]["workload.w0.mismatched_bytes"], 0, variant)


def case(shape):
    @classmethod
    def set_up(cls):
        cls.runs = Judged(FABRICS[shape], TROUBLES)
    return type(shape, (LinkLayer, unittest.TestCase), {"shape": shape, "setUpClass": set_up})


ipv4, ipv6, rocev1 = (case(shape) for shape in FABRICS)

if __name__ == "__main__":
    unittest.main()
