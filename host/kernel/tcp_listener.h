// SPDX-License-Identifier: MIT
// A listening TCP socket: connections that have been established and nobody has taken yet. Several
// programs may wait for them. Once `backlog` connections are begun and not taken, further SYNs are
// dropped without an answer, so that their senders try again.
#pragma once

#include <cstdint>

#include "host/cpu_core.h"
#include "host/kernel/tcp_socket.h"
#include "host/wait_queue.h"
#include "model/ring.h"

namespace rnicsim {

class TcpListener {
 public:
  /// The oldest connection; sleeps until there is one. From now on its frames leave through the
  /// channel of the caller's core.
  TcpSocket& accept(CpuTask& task);

 private:
  friend class NetworkStack;
  friend class TcpSocket;
  TcpListener(NetworkStack& stack, std::uint16_t port, const SocketOptions& options,
              std::uint32_t backlog, const InterruptConfig& config)
      : stack_(stack), port_(port), options_(options), backlog_(backlog), waiting_(config) {}
  bool is_full() const { return pending_ == backlog_; }
  void arrived(TcpSocket& socket);

  NetworkStack& stack_;
  std::uint16_t port_;
  SocketOptions options_;
  std::uint32_t backlog_;
  std::uint32_t pending_ = 0;  ///< begun and not accepted
  Ring<TcpSocket*> ready_;
  WaitQueue waiting_;
};

}  // namespace rnicsim
