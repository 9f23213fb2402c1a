#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs whose limit is known beforehand get that verdict."""
import json
import os
import subprocess
import unittest

RNICSIM = os.environ["RNICSIM"]
QUICK = ["--set", "workload.0.count=48"]
SMALL = ["--set", "workload.0.queue_depth=128", "--set", "workload.0.count=2000",
         "--set", "workload.0.warm_up=0"]


def verdicts(scenario, *options):
    """Of the runs as they are; expectations of a changed scenario may fail."""
    result = subprocess.run([RNICSIM, "run", scenario, "--json", *options], capture_output=True,
                            text=True, check=False)
    if not result.stdout:
        raise AssertionError(result.stderr)
    runs = json.loads(result.stdout)["runs"]
    return [(b["kind"], b["resource"]) for run in runs for b in run["bottlenecks"]]


class KnownLimits(unittest.TestCase):
    def test_two_hosts_are_limited_by_the_wire(self):
        self.assertEqual(verdicts("two_hosts", "--variant", "base", *QUICK),
                         [("busy", "host.A.nic0.port.tx.busy")])

    def test_a_narrow_pcie_link_is_the_limit_under_a_fast_wire(self):
        kind, resource = verdicts("two_hosts", "--variant", "base", *QUICK,
                                  "--set", "hosts.*.pcie.lanes=8")[0]
        self.assertEqual(kind, "busy")
        self.assertRegex(resource, r"^host\.(A\.nic0\.pcie\.downstream|B\.nic0\.pcie\.upstream)\.busy$")

    def test_misses_of_the_translation_cache_are_limited_by_walks(self):
        kind, resource = verdicts("translation_misses", "--variant", "base",
                                  "--set", "workload.0.count=3000",
                                  "--set", "workload.0.warm_up=0")[0]
        self.assertEqual(kind, "full")
        self.assertRegex(resource, r"translation_cache\.stalled\.miss_registers$")

    def test_one_small_message_at_a_time_is_limited_by_latency(self):
        self.assertEqual(verdicts("write_64b", "--variant", "base"),
                         [("latency", "workload.w0.latency.mean")])

    def test_one_queue_pair_is_limited_by_fetching_its_work(self):
        self.assertEqual(verdicts("write_64b", "--variant", "base", *SMALL),
                         [("one_at_a_time", "host.A.nic0.wqe_fetch.busy")])

    def test_a_slow_core_is_limited_by_posting(self):
        self.assertEqual(verdicts("write_64b", "--variant", "base", *SMALL,
                                  "--set", "hosts.0.cpu.frequency=400 MHz",
                                  "--set", "hosts.*.verbs.blue_flame=true"),
                         [("busy", "host.A.cpu.core0.busy")])

    def test_one_read_at_a_time_is_limited_by_max_rd_atomic(self):
        self.assertEqual(verdicts("operations", "--variant", "read_one")[0][0], "max_rd_atomic")

    def test_strictly_ordered_writes_to_far_memory_are_limited_by_their_number(self):
        self.assertEqual(verdicts("relaxed_ordering", "--variant", "base"),
                         [("full", "host.B.nic0.responder.stalled.window")])

    def test_few_tags_are_the_limit_of_reads(self):
        self.assertEqual(verdicts("pcie_bottleneck", "--variant", "few_tags"),
                         [("full", "host.A.nic0.pcie_endpoint.stalled.tags")])

    def test_a_narrow_way_between_sockets_is_the_limit_of_writes_to_the_far_one(self):
        self.assertEqual(verdicts("numa_remote", "--variant", "narrow_hop")[1],
                         ("busy", "host.B.memory.numa.to_memory.busy"))

    def test_incast_is_limited_by_the_port_of_the_receiver(self):
        self.assertEqual(verdicts("incast", "--variant", "base")[0],
                         ("busy", "fabric.switch0.port0.tx.busy"))

    def test_a_victim_of_congestion_is_not_blamed_on_a_port_that_it_does_not_use(self):
        by_victim = verdicts("hol_victim", "--variant", "base")[3]
        self.assertNotEqual(by_victim[1], "fabric.right.port0.tx.busy")


if __name__ == "__main__":
    unittest.main()
