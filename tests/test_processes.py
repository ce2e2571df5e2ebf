from __future__ import annotations

import os
import subprocess
import sys

from headcount.processes import NONE, born, lives


def test_this_process_lives_and_has_one_birth():
    assert lives(os.getpid())
    assert lives(os.getpid(), born(os.getpid()))
    assert not lives(os.getpid(), "1")  # another process had this id
    assert born(os.getpid()) == born("self") != NONE


def test_a_process_that_has_ended_does_not_live_though_its_parent_has_not_asked_for_it():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert lives(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, but not cleared away
    assert (lives(process.pid), born(process.pid)) == (False, NONE)
    process.wait()
    assert (lives(process.pid), born(process.pid)) == (False, NONE)


def test_what_is_no_process_does_not_live():
    assert not lives(0)
    assert not lives(-1)
    assert born("?") == NONE
