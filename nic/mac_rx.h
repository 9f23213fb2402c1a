// SPDX-License-Identifier: MIT
// The receive side of the Ethernet port: receive buffer, FCS and ICRC check, parser. A packet takes
// its frame's bytes of the buffer from its last bit until the responder has handed its payload to
// PCIe (or the packet needed none), or the completer is done with it. A packet that does not fit is
// a lossless drop, which ends the run: pausing the sender before that happens is PFC's work.
//
// Responses go to the completer, everything else that RC says, or that another transport has, to
// the responder, both with the time at which the parser is done with them.
#pragma once

#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/scheduler.h"

namespace rnicsim {

struct MacRxConfig {
  Bytes receive_buffer{1024 * 1024};
  PipelineConfig parser{Cycles(8), Cycles(2)};
  void describe(Fields& fields);
};

/// Takes parsed packets. `ready`: when the parser is done (>= now).
class ParsedPacketSink {
 public:
  virtual ~ParsedPacketSink() = default;
  virtual void receive(PacketRef packet, Time ready) = 0;
};

class MacRx : public PacketSink {
 public:
  MacRx(Scheduler& scheduler, const Clock& clock, const MacRxConfig& config, std::string name)
      : scheduler_(scheduler),
        config_(config),
        parser_(clock, config.parser),
        name_(std::move(name)) {}

  void connect(ParsedPacketSink& responder, ParsedPacketSink& completer) {
    responder_ = &responder;
    completer_ = &completer;
  }
  void receive(PacketRef packet) override;
  /// Nobody needs the buffer of a packet any longer.
  void release(const Packet& packet) { occupied_ -= packet.frame_bytes(); }
  Bytes occupied() const { return occupied_; }
  std::uint64_t received() const { return packets_; }
  std::uint64_t received_bytes() const { return bytes_.count(); }

  Probe probe;
  PacketTapPoint tap;
  void report(const MetricScope& scope) const;

 private:
  void take_room(Bytes frame);

  Scheduler& scheduler_;
  MacRxConfig config_;
  Pipeline parser_;
  std::string name_;
  ParsedPacketSink* responder_ = nullptr;
  ParsedPacketSink* completer_ = nullptr;
  Bytes occupied_;
  Bytes most_occupied_;
  std::uint64_t packets_ = 0;
  Bytes bytes_;
  std::uint64_t crc_errors_ = 0;
  std::uint64_t icrc_errors_ = 0;
  std::uint64_t unknown_opcodes_ = 0;
};

}  // namespace rnicsim
