// SPDX-License-Identifier: MIT
// TLPs that arrive damaged on one direction of a PCIe link, and what sending them again costs (PCIe
// Base Specification 3.6): the receiver drops the TLP and all behind it and answers with a NAK, the
// sender goes back to it. So the wire loses the way there, the NAK's way back and the TLP itself.
//
// Models: which TLP is damaged (every n-th, or at random by a bit error rate), the wire time lost,
// as bytes in front of the train that the TLP is of. Approximates: the loss is known when the train
// is queued, and stands in front of it but for the train's first byte, which is there as if nothing
// had happened and is one for all damaged TLPs of a train that is shorter than the round trip;
// streams that take turns with the train during the replay are held up by its length, not stopped.
// A read request is late by the loss instead of lengthened. A NAK that is lost itself costs the
// replay timer instead of its way back. Ignores: retraining after four replays, the same TLP
// damaged twice.
#pragma once

#include <cstdint>

#include "host/pcie_train.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/random.h"
#include "model/units.h"

namespace rnicsim {

struct PcieReplayConfig {
  std::uint64_t every = 0;
  double bit_error_rate = 0;
  std::uint64_t lost_naks = 0;
  Time timer = Time::ns(609);
  void describe(Fields& fields);
};

class PcieReplay {
 public:
  /// round_trip: a TLP's way and its NAK's, besides the time of the bytes.
  PcieReplay(const PcieReplayConfig& config, const ByteTime& byte_time, Time round_trip,
             std::uint64_t seed);

  bool active() const { return config_.every != 0 || config_.bit_error_rate > 0; }
  /// Damages TLPs of a train that is about to be queued, and makes it longer by what that costs.
  void damage(Train& train);
  void report(const MetricScope& scope) const;

 private:
  std::uint32_t damaged(const Train& train);
  std::uint64_t bytes_in_vain(std::uint32_t count, std::uint32_t tlp_bytes);

  PcieReplayConfig config_;
  ByteTime byte_time_;
  std::uint32_t round_trip_bytes_;
  std::uint32_t timer_bytes_;
  Random random_;
  std::uint64_t sent_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t timeouts_ = 0;
  Bytes lost_;
};

}  // namespace rnicsim
