// SPDX-License-Identifier: MIT
// The control channels of a workload's two programs over one TCP connection, as applications really
// hand over addresses and keys: through the same hosts' kernels, NICs and fabric as the data.
//
//   program on `to`                          program on `from`
//   opens its interface, listens             opens its interface
//       (gate: it listens)                   connects
//   accepts
//       <---- [length, 4 B | message] --------
//       ----- the same ---------------------->
//   leaves: closes                           leaves: closes
//
// It is all of the control plane. A message is one call to send, and two to receive: its length,
// then the rest; small segments do not wait (TCP_NODELAY). The connection is set up when the
// programs first have something to say, after they have registered their memory. Writing a message
// into the buffer and reading it cost nothing. With elided payload a message's bytes do not travel,
// but what it says does.
//
// Ignores: any other connection manager (RDMA-CM). A message that a failed connection loses is lost
// for good: who waits for one then waits for ever, as for one that was never sent.
#pragma once

#include <string>

#include "model/ring.h"
#include "scenarios/engine/control_path.h"
#include "scenarios/engine/gate.h"
#include "scenarios/engine/tcp_endpoint.h"

namespace rnicsim {

class TcpControl final : public ControlPath {
 public:
  static constexpr std::uint64_t kPrefixBytes = 4;

  /// REQUIRES: the workload has its port.
  TcpControl(System& system, const WorkloadSpec& spec, const Setting& setting);

  ControlChannel& forth() override { return forth_; }
  ControlChannel& back() override { return back_; }
  void connect(CpuTask& task) override;
  void accept(CpuTask& task) override;
  void leave(CpuTask& task, const std::string& host) override;
  std::string trouble() const override;

 private:
  struct Buffer {
    VirtualAddress at{};
    Bytes size;
  };
  struct Side {
    TcpEndpoint endpoint;
    TcpSocket* socket = nullptr;
    Buffer out{};
    Buffer in{};
    bool sending = false;
    bool left = false;
    /// At least so large.
    VirtualAddress room(Buffer& buffer, Bytes bytes);
    bool can_send() const { return socket != nullptr && !left && !socket->failure(); }
  };
  class Way final : public ControlChannel {
   public:
    Way(Side& from, Side& to, bool elided, Timeline* timeline)
        : from_(from), to_(to), elided_(elided), timeline_(timeline) {}
    void send(CpuTask& task, ControlMessage message) override;
    ControlMessage receive(CpuTask& task) override;
    void report(const MetricScope& scope) const override;

   private:
    struct Sent {
      Time at;
      ControlMessage message;
    };
    void read(CpuTask& task, Bytes bytes);

    Side& from_;
    Side& to_;
    bool elided_;
    Timeline* timeline_;  ///< shows the first message
    Ring<Sent> in_flight_;
    std::uint64_t messages_ = 0;
    Bytes bytes_;
    std::size_t most_ = 0;
  };
  static SocketOptions options();
  static void close(CpuTask& task, Side& side);

  std::uint16_t port_;
  Gate listening_;
  Side client_;
  Side server_;
  Way forth_;
  Way back_;
};

}  // namespace rnicsim
