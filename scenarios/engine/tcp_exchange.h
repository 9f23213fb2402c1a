// SPDX-License-Identifier: MIT
// One connection of a workload over TCP: a client and a server, each a program on a core of its
// own, that exchange messages in rounds.
//
//   server (B)                               client (A)
//   opens its interface, listens             opens its interface
//       (gate: the server listens)           connects
//   accepts
//   for each round:
//       (gate: the server is ready)
//   stream: receives what there is           sends message after message
//   with a response: receives the whole
//     message, answers                       sends one, receives the whole answer
//   sees the stream's end, closes            waits for its pages (zero-copy), closes
//
// Every call is one system call of a socket, as large as the message; the server's buffer of a
// stream is of receive_size. Looking at the clock and writing the number into a message cost
// nothing. Bytes are compared outside of simulated time as they come, both ways.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/gate.h"
#include "scenarios/engine/programs.h"
#include "scenarios/engine/stream_check.h"
#include "scenarios/engine/tcp_endpoint.h"
#include "scenarios/engine/timeline.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

class TcpExchange {
 public:
  struct Round {
    Bytes size;
    std::uint64_t count = 0;
    std::uint64_t places = 1;  ///< of the client's buffer
    Bytes response;            ///< 0: none
    std::vector<Time> sent{};  ///< the call to send began
    std::vector<Time> done{};  ///< the receiver has it, or the sender its response
  };
  struct Setting {
    std::string name;  ///< for its threads
    std::uint16_t port = 0;
    std::uint64_t seed = 0;
    unsigned client_core = 0;
    unsigned server_core = 0;
    bool elided = false;
    std::uint64_t tracked = 0;     ///< messages that the timeline shows, the first ones
    Timeline* timeline = nullptr;  ///< if there is any
  };

  /// `active`: called when messages begin and when they have ended.
  TcpExchange(System& system, const WorkloadSpec& spec, const Setting& setting,
              std::vector<Round> rounds, std::function<void()> active);

  bool finished() const { return client_.programs.finished() && server_.programs.finished(); }
  /// One line a program that has not ended well; empty if both have.
  std::vector<std::string> waiting_for() const;
  const std::vector<Round>& rounds() const { return rounds_; }
  std::uint64_t completed() const;
  /// Bytes of the messages done, and of their responses.
  std::uint64_t transferred() const;
  std::uint64_t mismatched() const { return mismatched_; }
  const std::optional<TcpFailure>& failure() const { return failure_; }

 private:
  struct Side {
    TcpEndpoint endpoint;
    Programs programs;
    const char* doing = "starting";
    TcpSocket* socket = nullptr;
    VirtualAddress out{};  ///< messages to send, of the server responses
    VirtualAddress in{};
  };
  void client(CpuTask& task);
  void server(CpuTask& task);
  bool talk(CpuTask& task, Round& round);
  void track(Bytes bytes);
  bool listen_to(CpuTask& task, Round& round);
  bool take_stream(CpuTask& task, Round& round, StreamCheck& check);
  bool answer(CpuTask& task, Round& round, StreamCheck& check);
  void prepare(CpuTask& task, Side& side, Bytes out, Bytes in);
  bool send(CpuTask& task, Side& side, std::uint64_t place, Bytes bytes);
  Bytes receive(CpuTask& task, Side& side, Bytes bytes, TcpSocket::Amount amount,
                StreamCheck& check);
  void end(CpuTask& task, Side& side);
  void read_to_end(CpuTask& task);
  Bytes receive_size(const Round& round) const;
  StreamCheck requests_of(const Round& round) const;
  StreamCheck responses_of(const Round& round) const;
  SocketOptions options() const;
  template <class BytesOf>
  Bytes most(BytesOf bytes_of) const;

  const WorkloadSpec& spec_;
  Setting setting_;
  std::vector<Round> rounds_;
  std::function<void()> active_;
  Gate listening_;
  std::vector<std::unique_ptr<Gate>> ready_;  ///< by round
  Side client_;
  Side server_;
  std::uint64_t mismatched_ = 0;
  std::optional<TcpFailure> failure_;
};

}  // namespace rnicsim
