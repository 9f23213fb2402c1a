#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""golden_test.py for the scenarios that take long."""
import golden_test

golden_test.main(lambda name: name in golden_test.LONG)
