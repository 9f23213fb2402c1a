// SPDX-License-Identifier: MIT
#include "host/kernel/tcp_listener.h"

#include "host/kernel/network_stack.h"

namespace rnicsim {

TcpSocket& TcpListener::accept(CpuTask& task) {
  stack_.enter(task, CpuPlane::kControl);
  while (ready_.empty()) {
    waiting_.sleep(task, CpuPlane::kControl);
    stack_.let_softirq_pass(task);
  }
  --pending_;
  TcpSocket& socket = *ready_.take();
  socket.listener_ = nullptr;
  socket.channel_ = &stack_.channel_of(task.core());
  stack_.steer(task, socket);
  return socket;
}

void TcpListener::arrived(TcpSocket& socket) {
  ready_.push(&socket);
  socket.wake(waiting_);
}

}  // namespace rnicsim
