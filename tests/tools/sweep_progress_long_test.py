#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rnicsim sweep says of its progress once it has taken two seconds, phase by phase."""
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from sanitizer_notes import said
from study_case import LONG, StudyCase, stop, stop_a_worker_of

LINE = r"\[#*-*\] \d of 8 points, 1 running, \S+/s, \S+ \w+ left"
OVER_TWO_SECONDS = 2.1


class Progress(StudyCase):
    def end_on_terminal(self, command, delay):
        """Starts it with a terminal as stderr; `delay` gets the process, and gives what lets it go
        on, which happens once it is past two seconds. What the terminal was shown, in its lines."""
        mine, theirs = pty.openpty()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        go_on = delay(process)
        time.sleep(OVER_TWO_SECONDS)
        go_on()
        shown = b""
        while True:
            try:
                part = os.read(mine, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(mine)
        self.assertEqual(process.wait(timeout=60), 0)
        lines = said(shown.decode()).split("\r\x1b[K")
        self.assertEqual((lines[0], lines[-1]), ("", ""))  # it leaves nothing behind
        return lines[1:-1]

    @staticmethod
    def held_worker(process):
        worker = stop_a_worker_of(process.pid)
        return lambda: os.kill(worker, signal.SIGCONT)

    def held_study(self):
        """The command to read it, and what holds it back until it may."""
        content = (self.root / "study.json").read_bytes()
        (self.root / "study.json").unlink()
        os.mkfifo(self.root / "study.json")
        return lambda process: lambda: (self.root / "study.json").write_bytes(content)

    def test_a_terminal_is_shown_points_rate_and_time_left(self):
        self.study(set={"workload.w0.count": 20000, "engine.payload": "elided"})
        lines = self.end_on_terminal(self.command("--jobs", "1"), self.held_worker)
        self.assertRegex("\n".join(lines), LINE)
        self.assertIn("making the results", lines)

    def test_every_phase_is_shown(self):
        lines = self.end_on_terminal(self.command(), self.held_study())
        self.assertEqual([lines[0], lines[-1]], ["reading the study", "making the results"])
        self.assertIn("simulating", lines)
        (self.root / "study.json").unlink()
        self.study()
        lines = self.end_on_terminal(self.command("--merge"), self.held_study())
        self.assertEqual([lines[0], lines[-2:]],
                         ["reading the study", ["reading results", "making the results"]])

    def test_who_must_not_be_disturbed_is_shown_nothing(self):
        self.study(set={"workload.w0.count": 20000, "engine.payload": "elided"})
        command = self.command("--jobs", "1", "-q")
        self.assertEqual(self.end_on_terminal(command, self.held_worker), [])

    def start_rank(self, rank):
        environment = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE="2")
        return subprocess.Popen(self.command(), env=environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def test_the_first_rank_says_on_a_line_what_all_have_done(self):
        self.study(set=LONG)
        first = self.start_rank(0)
        worker = stop_a_worker_of(first.pid)
        self.assertTrue(stop(first.pid))
        other = self.start_rank(1)
        self.wait_for(lambda: len(self.points()) == 7)
        time.sleep(OVER_TWO_SECONDS)
        os.kill(first.pid, signal.SIGCONT)
        said_first = ""
        while "7 of 8" not in said_first:
            line = first.stderr.readline()
            self.assertNotEqual(line, "")
            said_first = line
        os.kill(worker, signal.SIGCONT)
        first.communicate(timeout=60)
        self.assertEqual(said(other.communicate(timeout=60)[1]), "")
        self.assertEqual((first.returncode, other.returncode), (0, 0))
        self.assertRegex(said_first, r"^\[#+-+\] 7 of 8 points, 1 running, \S+/s, \S+ \w+ left\n$")


if __name__ == "__main__":
    unittest.main()
