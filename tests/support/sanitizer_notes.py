# SPDX-License-Identifier: MIT
"""What a program under the address sanitizer says on stderr without being asked."""
import re

# It does not know the stacks of the kernel's coroutines, and says so once when an exception unwinds
# one (see tests/support/main.cpp); the program itself says nothing of the kind.
NOTE = re.compile(r"==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return:.*?"
                  r"For details see [^\n]*\n", re.DOTALL)


def said(stderr):
    """What the program itself said."""
    return NOTE.sub("", stderr)
