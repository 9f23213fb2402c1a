#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A study that several processes share, under a real mpirun and with its environment alone: each
point is simulated once, a process that dies leaves its points to the others, and the results are
the bytes of one process."""
import ctypes
import errno
import json
import os
import pathlib
import platform
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from sanitizer_notes import said
from study_case import (LONG, RESULTS, STUDY, StudyCase, children_of, state_of, stop_a_worker_of,
                        stop_workers_of)

LIBC = ctypes.CDLL(None, use_errno=True)


class WrittenFiles:
    """Names of the files that come into a folder, again each time that one comes again."""
    MOVED_TO = 0x80
    HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name

    def __init__(self, folder):
        folder.mkdir(parents=True)
        self.descriptor = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if LIBC.inotify_add_watch(self.descriptor, str(folder).encode(), self.MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def names(self):
        names = []
        while True:
            try:
                events = os.read(self.descriptor, 65536)
            except BlockingIOError:
                os.close(self.descriptor)
                return sorted(names)
            while events:
                length = self.HEAD.unpack_from(events)[3]
                end = self.HEAD.size + length
                names.append(events[self.HEAD.size:end].rstrip(b"\0").decode())
                events = events[end:]


class MpiRun(StudyCase):
    def setUp(self):
        super().setUp()
        self.study(set=LONG)

    def mpirun(self, *options, arguments=("-q",)):
        # A job in which this runs must not be asked to start the processes.
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("SLURM", "OMPI", "PMI"))}
        return subprocess.Popen(["mpirun", "-n", "4", "--oversubscribe", "--allow-run-as-root",
                                 *options, *self.command(*arguments)], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def rank_of(self, mpirun, number):
        """Its process id."""
        found = []

        def is_there():
            for pid in children_of(mpirun.pid):
                try:
                    environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                if f"OMPI_COMM_WORLD_RANK={number}".encode() in environment:
                    found.append(pid)
            return found

        self.wait_for(is_there)
        return found[0]

    def test_four_ranks_simulate_each_point_once_and_give_the_same_bytes(self):
        written = WrittenFiles(self.root / "out/points")
        mpirun = self.mpirun(arguments=())
        out, err = mpirun.communicate(timeout=300)
        self.assertEqual(mpirun.returncode, 0, err)
        # On a slow machine the first says how far they are.
        self.assertRegex(said(err), r"^(\[#*-*\] \d of 8 points[^\n]*\n)*$")
        self.assertEqual(out.count("8 points\n"), 1)
        self.assertEqual(written.names(), sorted(self.points()))
        self.assertEqual((len(self.points()), self.locks()), (8, []))
        self.assert_as_by_one_process()

    def test_failing_points_fail_mpirun_and_are_said_once(self):
        self.study(axes=[{"path": "stop_at", "values": ["3 us", "1 s"]}, STUDY["axes"][1]])
        mpirun = self.mpirun()
        _, err = mpirun.communicate(timeout=300)
        self.assertEqual(mpirun.returncode, 1)
        self.assertEqual(err.count("study: point 0 (stop_at 3 us, page_size 4 KiB): "), 1, err)
        self.assertEqual(err.count("rnicsim: "), 0, err)
        status, _, _ = self.sweep(out="whole")
        self.assertEqual(status, 1)
        self.assert_same_results("out", "whole")

    def hold(self, mpirun):
        """All ranks while each simulates a point; gives them and their workers."""
        ranks = [self.rank_of(mpirun, number) for number in range(4)]
        return ranks, stop_workers_of(ranks)

    def kill(self, number, *options):
        """Kills a rank while it simulates a point; gives mpirun at its end, and what it said."""
        mpirun = self.mpirun(*options)
        ranks, workers = self.hold(mpirun)
        os.kill(ranks[number], signal.SIGKILL)
        of_killed = workers.pop(number)
        self.wait_for(lambda: state_of(of_killed) in "ZX")
        for worker in workers:
            os.kill(worker, signal.SIGCONT)
        return mpirun, mpirun.communicate(timeout=300)[1]

    def test_the_others_do_what_a_rank_that_dies_had_begun(self):
        mpirun, err = self.kill(2, "--enable-recovery")
        self.assertEqual(mpirun.returncode, 0, err)
        self.assertEqual(len(self.points()), 8)
        self.assert_as_by_one_process()

    def test_another_makes_the_results_if_the_first_rank_dies(self):
        mpirun, err = self.kill(0, "--enable-recovery")
        self.assertEqual(mpirun.returncode, 0, err)
        self.assertRegex(err, "the first process died; process [123] makes the results\n")
        self.assertEqual(self.locks(), [])
        self.assert_as_by_one_process()

    def test_another_makes_the_results_if_the_first_rank_dies_before_it_comes(self):
        die = '[ "$OMPI_COMM_WORLD_RANK" = 0 ] && kill -9 $$; exec "$@"'
        mpirun = self.mpirun("--enable-recovery", "sh", "-c", die, "sh", arguments=("--json",))
        out, err = mpirun.communicate(timeout=300)
        self.assertEqual(mpirun.returncode, 0, err)
        self.assertEqual(len(json.loads(out)["points"]), 8)
        self.assert_as_by_one_process()

    # mpirun wakes what stands still before it ends it, and gives it a second meanwhile.
    AT_ONCE = ("--mca", "odls_base_sigkill_timeout", "0")

    def test_a_study_that_mpirun_gave_up_with_a_rank_goes_on(self):
        self.goes_on_after(lambda mpirun, ranks: os.kill(ranks[2], signal.SIGKILL),
                           128 + signal.SIGKILL)

    def test_an_interrupted_mpirun_leaves_what_can_go_on(self):
        self.goes_on_after(lambda mpirun, ranks: mpirun.send_signal(signal.SIGINT), 1)

    def goes_on_after(self, event, status):
        mpirun = self.mpirun(*self.AT_ONCE)
        ranks, workers = self.hold(mpirun)
        event(mpirun, ranks)
        mpirun.communicate(timeout=300)
        self.assertEqual(mpirun.returncode, status)
        self.wait_for(lambda: all(state_of(worker) in "ZX" for worker in workers))
        before = self.points()
        self.assertLess(len(before), 8)
        self.assertFalse((self.root / "out/results.csv").exists())
        self.good("-q", "--resume")
        self.assertEqual({name: self.points()[name] for name in before}, before)
        self.assert_as_by_one_process()


class Ranks(StudyCase):
    """Processes with the environment of mpirun."""

    def start(self, rank, count, *options, job=""):
        environment = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank),
                           OMPI_COMM_WORLD_SIZE=str(count), PMIX_NAMESPACE=job)
        return subprocess.Popen(self.command("-q", *options), env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, rank, status=0, err="", result=""):
        out, found = rank.communicate(timeout=300)
        self.assertEqual((rank.returncode, out), (status, result), found)
        self.assertRegex(said(found), f"^{err}$")

    def test_no_two_ranks_simulate_the_same_point(self):
        self.study(set=LONG)
        written = WrittenFiles(self.root / "out/points")
        ranks = []
        workers = []
        for number in range(4):
            ranks.append(self.start(number, 4))
            workers.append(stop_a_worker_of(ranks[-1].pid))
        held = [name for name in self.locks() if len(name) == len(".lock") + 32]
        for worker in workers:
            os.kill(worker, signal.SIGCONT)
        for rank in ranks:
            self.end(rank)
        self.assertEqual(len(held), 4)
        self.assertEqual(written.names(), sorted(self.points()))
        self.assert_as_by_one_process()

    @staticmethod
    def failure(index, page_size):
        """The error that was kept names no point: in another study it has another number."""
        return (fr"study: point {index} \(page_size {page_size}\): the simulation died of signal 9 "
                r"\(Killed\); perhaps there was not enough memory\n")

    BOTH_FAILED = failure(0, "4 KiB") + failure(1, "2 MiB")

    def fail_both(self, *options):
        """Both points of a study, in a run to which the first process does not come: each is tried
        twice."""
        self.study(set={**LONG, "workload.w0.count": 20000}, axes=[STUDY["axes"][1]])
        rank = self.start(1, 2, *options)
        self.kill_workers(rank, 4)
        self.end(rank, 1, self.BOTH_FAILED)
        self.assertEqual(len(self.failed()), 2)

    @staticmethod
    def kill_workers(rank, count):
        for _ in range(count):
            os.kill(stop_a_worker_of(rank.pid), signal.SIGKILL)

    def failed(self):
        return [path.name for path in (self.root / "out/points").glob("*.json")
                if '"error":"the simulation died' in path.read_text()]

    def test_a_point_that_failed_is_not_simulated_again_in_the_same_run(self):
        self.fail_both("--resume")
        before = self.points()
        self.end(self.start(0, 2, "--resume"))
        self.assertEqual((self.points(), self.locks()), (before, []))

    def test_a_point_that_failed_is_simulated_again_only_if_the_next_run_resumes(self):
        self.fail_both("--resume")
        before = self.points()
        self.end(self.start(1, 2), 1, self.BOTH_FAILED)  # it came to the last run: this is another
        self.assertEqual(self.points(), before)
        self.end(self.start(0, 2, "--resume", job="another"))
        self.assertEqual(self.failed(), [])
        self.assert_as_by_one_process()

    def test_one_makes_the_results_if_the_first_does_not_come(self):
        ranks = [self.start(number, 3, "--json") for number in (1, 2)]
        outputs = sorted((out, said(err)) for out, err in
                         [rank.communicate(timeout=300) for rank in ranks])
        self.assertEqual([rank.returncode for rank in ranks], [0, 0])
        result = (self.root / "out/results.json").read_text()
        self.assertEqual(outputs, [("", ""), (result, "")])
        self.assert_as_by_one_process()

    def test_a_first_that_comes_when_another_has_made_the_results_makes_none(self):
        (self.root / "out/points").mkdir(parents=True)
        (self.root / "out/points/first.lock").touch()  # a run that was killed left it
        rank = self.start(1, 2, "--json", "--resume")
        out, err = rank.communicate(timeout=300)
        self.assertEqual((rank.returncode, said(err)), (0, ""))
        self.assertEqual(len(json.loads(out)["points"]), 8)
        made = {name: (self.root / "out" / name).stat().st_mtime_ns for name in RESULTS}
        self.end(self.start(0, 2, "--json", "--resume"))
        self.assertEqual({name: (self.root / "out" / name).stat().st_mtime_ns for name in RESULTS},
                         made)
        self.assertEqual(self.locks(), [])
        self.end(self.start(0, 2, "--json"), result=out)  # the next run

    def test_a_run_that_resumes_tries_what_failed_again_but_not_what_it_saw_fail(self):
        self.fail_both()
        begun = self.start(1, 2, "--resume")
        self.kill_workers(begun, 3)  # the first point, the second, and the first again
        worker = stop_a_worker_of(begun.pid)
        self.wait_for(lambda: len(self.points()) == 1)
        again = self.points()
        late = self.start(0, 2, "--resume")
        self.wait_for(lambda: "first.lock" in self.locks())
        os.kill(worker, signal.SIGCONT)
        self.end(late, 1, self.failure(0, "4 KiB"))
        self.end(begun)
        self.assertEqual({name: self.points()[name] for name in again}, again)
        self.assertEqual(self.failed(), list(again))
        self.good("-q", "--resume")
        self.assert_as_by_one_process()

    def test_where_there_are_no_locks_that_is_said(self):
        # See seccomp(2): what asks for flock gets an error.
        number = {"x86_64": 73, "aarch64": 32}[platform.machine()]
        program = ctypes.create_string_buffer(b"".join(
            struct.pack("HBBI", *instruction) for instruction in (
                (0x20, 0, 0, 0),                          # load the system call's number
                (0x15, 0, 1, number),                     # skip one instruction unless it is flock
                (0x06, 0, 0, 0x00050000 | errno.ENOLCK),  # fail
                (0x06, 0, 0, 0x7fff0000))))               # allow
        filters = ctypes.create_string_buffer(
            struct.pack("HP", 4, ctypes.addressof(program)))

        def without_locks():
            no_new_privileges, set_seccomp, by_filter = 38, 22, 2
            zero = ctypes.c_ulong(0)
            LIBC.prctl(no_new_privileges, ctypes.c_ulong(1), zero, zero, zero)
            if LIBC.prctl(set_seccomp, ctypes.c_ulong(by_filter), filters, zero, zero) != 0:
                os._exit(99)

        for number in range(2):
            environment = dict(os.environ, OMPI_COMM_WORLD_RANK=str(number),
                               OMPI_COMM_WORLD_SIZE="2")
            result = subprocess.run(self.command(), env=environment, preexec_fn=without_locks,
                                    capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertRegex(said(result.stderr),
                             r"^\S+/out/points/\S+\.lock: cannot be locked: No locks available; "
                             r"name a folder with --out on a file system that has locks\n$")
        self.assertEqual(self.points(), {})


if __name__ == "__main__":
    unittest.main()
