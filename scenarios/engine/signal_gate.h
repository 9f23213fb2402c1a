// SPDX-License-Identifier: MIT
// While it lives, the signals that end a program arrive as something to read: nothing is lost
// between a look and a wait, and no handler needs a global.
#pragma once

#include <csignal>

namespace rnicsim {

class SignalGate {
 public:
  SignalGate();
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;
  ~SignalGate();

  int descriptor() const { return descriptor_; }  ///< to wait for
  const sigset_t& before() const { return before_; }
  /// Throws Interrupted.
  void throw_if_signalled() const;

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

}  // namespace rnicsim
