// SPDX-License-Identifier: MIT
#include "scenarios/engine/signal_gate.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "scenarios/engine/runner.h"

namespace rnicsim {

SignalGate::SignalGate() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ours, signal);
  sigprocmask(SIG_BLOCK, &ours, &before_);
  descriptor_ = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalGate::~SignalGate() {
  close(descriptor_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void SignalGate::throw_if_signalled() const {
  signalfd_siginfo info{};
  if (read(descriptor_, &info, sizeof info) == sizeof info)
    throw Interrupted(static_cast<int>(info.ssi_signo));
}

}  // namespace rnicsim
