#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every opcode that a workload can cause over InfiniBand, and its flow control packets, captured and
judged: tshark must find in a packet what support/infiniband_wire reads in its bytes, and that module
computes both CRCs and keeps the books of credit.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import infiniband_wire as wire
import pcap_opcodes_test as opcodes
from roce_wire import complaints, flatten, number

OUTBOUND = 2
LANE = 3  # of the service level that DSCP 26 stands for


def without_flow_control(name, changes, syndrome, comment, metric):
    """A trouble whose fault counts packets, of those with an opcode."""
    glob = "*read*" if name == "lost_answer" else "*write*"
    faults = [rule if rule["kind"] == "down" else {**rule, "opcode": glob}
              for rule in changes.get("fabric.link.faults", [])]
    if faults:
        changes = {**changes, "fabric.link.faults": faults}
    return changes, syndrome, "dropped: wrong VCRC" if name == "wrong_fcs" else comment, metric


TROUBLES = {name: without_flow_control(name, *trouble)
            for name, trouble in opcodes.TROUBLES.items()}


def judge(packet, layers):
    """What is wrong with a packet, in words."""
    kind, content = wire.record(packet["frame"])
    fields = flatten(layers, {})
    comment = [packet[1].decode()] if 1 in packet else []
    wrong = []
    if kind == wire.LINK:
        names, prefix = wire.flow_control(content), "infiniband_link."
        if content[4:6] != wire.vcrc(content[:4]):
            wrong.append("link packet CRC")
        if names["fctbs"] & 2:  # tshark takes that for an LRH's sign that a BTH or a GRH follows
            return wrong
    else:
        names, prefix = wire.parse(content), "infiniband."
        wrong += judge_packet(content, names, packet, comment)
    if complaints(layers) != comment:
        wrong.append(f"tshark: {complaints(layers)}")
    for name, value in names.items():
        if isinstance(value, int) and number(fields.get(prefix + name)) != value:
            wrong.append(f"{name} {value}, for tshark {fields.get(prefix + name)}")
    return wrong


def judge_packet(content, names, packet, comment):
    wrong = []
    sent_by_first = (packet["interface"] == 0) == (packet[2][0] == OUTBOUND)
    wanted = {"lrh.vl": LANE, "lrh.lver": 0, "lrh.sl": LANE, "lrh.lnh": 2,
              "lrh.pktlen": (len(content) - 2) // 4, "lrh.slid": 1 if sent_by_first else 2,
              "lrh.dlid": 2 if sent_by_first else 1}
    if len(content) % 4 != 2:
        wrong.append(f"{len(content)} B")
    for name, value in wanted.items():
        if names[name] != value:
            wrong.append(f"{name} is {names[name]}, not {value}")
    if (names["icrc"] == wire.icrc(content)) == (comment == ["dropped: wrong ICRC"]):
        wrong.append("ICRC")
    if (names["vcrc"] == wire.vcrc(content[:-2])) == (comment == ["dropped: wrong VCRC"]):
        wrong.append("VCRC")
    return wrong


class InfiniBand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = opcodes.Judged({"link_layer": "infiniband"}, TROUBLES)

    def data_of(self, variant):
        for packet in self.runs.packets[variant]:
            kind, content = wire.record(packet["frame"])
            if kind == wire.DATA:
                yield packet, wire.parse(content)

    def test_every_packet_is_what_the_specification_says(self):
        count = {wire.DATA: 0, wire.LINK: 0}
        for variant, packets in self.runs.packets.items():
            for index, packet in enumerate(packets):
                count[wire.record(packet["frame"])[0]] += 1
                wrong = judge(packet, self.runs.layers[variant][index])
                self.assertEqual(wrong, [], f"{variant}, packet {index + 1}")
        self.assertGreater(count[wire.DATA], 500)
        self.assertGreater(count[wire.LINK], 500)

    def test_every_opcode_is_there(self):
        seen = {read["bth.opcode"] for variant in opcodes.MOVES
                for _, read in self.data_of(variant)}
        self.assertEqual(seen, opcodes.OPCODES)

    def test_answers_and_comments_say_what_went_wrong(self):
        for variant, (_, syndrome, comment, metric) in TROUBLES.items():
            read = list(self.data_of(variant))
            if syndrome is not None:
                self.assertIn(syndrome, {fields.get("aeth.syndrome") for _, fields in read},
                              variant)
            comments = [packet[1].decode() for packet, _ in read if 1 in packet]
            if variant == "down":  # flow control packets are lost too, and metrics count them
                self.assertEqual(set(comments), {comment})
                continue
            dropped = self.runs.metrics[variant][metric] if metric else 0
            self.assertEqual(comments, [comment] * dropped, variant)
            self.assertEqual(dropped > 0, comment is not None, variant)

    def test_what_was_lost_is_sent_again(self):
        for variant in ("not_ready", "lost", "down", "wrong_icrc", "wrong_fcs", "lost_answer"):
            self.assertEqual(self.runs.metrics[variant]["workload.w0.completed"], 4, variant)
            self.assertEqual(self.runs.metrics[variant]["workload.w0.mismatched_bytes"], 0, variant)

    def test_flow_control_packets_count_what_was_sent_and_nobody_exceeds_his_credit(self):
        for variant, packets in self.runs.packets.items():
            sent, limit = [0, 0], [None, None]
            for index, packet in enumerate(packets):
                port, outbound = packet["interface"], packet[2][0] == OUTBOUND
                kind, content = wire.record(packet["frame"])
                where = f"{variant}, packet {index + 1}"
                if kind == wire.DATA and outbound:
                    sent[port] += wire.blocks(content)
                    self.assertIsNotNone(limit[port], where)
                    self.assertLessEqual((limit[port] - sent[port]) % 4096, 2048, where)
                if kind == wire.DATA:
                    continue
                told = wire.flow_control(content)
                if told["vl"] == LANE and outbound:
                    self.assertEqual(told["fctbs"], sent[port] % 4096, where)
                if told["vl"] == LANE and not outbound and 1 not in packet:
                    limit[port] = told["fccl"]

    def test_a_link_comes_up_with_an_initial_packet_for_every_lane(self):
        packets = self.runs.packets["rc_write"]
        for port in (0, 1):
            told = [wire.flow_control(wire.record(packet["frame"])[1]) for packet in packets
                    if packet["interface"] == port and packet[2][0] == OUTBOUND
                    and wire.record(packet["frame"])[0] == wire.LINK]
            self.assertEqual([each["vl"] for each in told[:8]], list(range(8)))
            self.assertEqual([each["op"] for each in told[:9]], [1] * 8 + [0])
            self.assertEqual({each["fccl"] for each in told[:8]}, {128 * 1024 // 64})


if __name__ == "__main__":
    unittest.main()
