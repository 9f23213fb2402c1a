// SPDX-License-Identifier: MIT
#include "host/pcie_replay.h"

#include <algorithm>
#include <cmath>

namespace rnicsim {

namespace {

std::uint32_t bytes_in(Time time, const ByteTime& byte_time) {
  return static_cast<std::uint32_t>(static_cast<Uint128>(time.ps()) * byte_time.denominator() /
                                    byte_time.numerator());
}

}  // namespace

void PcieReplayConfig::describe(Fields& fields) {
  fields.field("every", every, range(std::uint64_t{0}, std::uint64_t{1} << 40),
               "every how manieth TLP of a direction arrives damaged; 0: none");
  fields.field("bit_error_rate", bit_error_rate, range(0.0, 1e-3),
               "probability that a bit arrives wrong");
  fields.field("lost_naks", lost_naks, range(std::uint64_t{0}, std::uint64_t{1} << 40),
               "every how manieth NAK is lost, so that the sender's timer starts the replay; 0: "
               "none");
  fields.field("timer", timer, range(Time(), Time::ms(1)),
               "the sender's replay timer; 609 symbol times are what the specification has for "
               "Gen3 x8 and payloads of 256 B");
}

PcieReplay::PcieReplay(const PcieReplayConfig& config, const ByteTime& byte_time, Time round_trip,
                       std::uint64_t seed)
    : config_(config),
      byte_time_(byte_time),
      round_trip_bytes_(bytes_in(round_trip, byte_time)),
      timer_bytes_(bytes_in(config.timer, byte_time)),
      random_(seed) {}

std::uint32_t PcieReplay::damaged(const Train& train) {
  std::uint32_t count = 0;
  if (config_.every != 0)
    count =
        static_cast<std::uint32_t>((sent_ + train.tlps) / config_.every - sent_ / config_.every);
  sent_ += train.tlps;
  if (config_.bit_error_rate <= 0) return count;
  const double intact = std::exp(-8.0 * train.tlp_bytes * config_.bit_error_rate);
  for (std::uint32_t i = 0; i < train.tlps; ++i)
    if (static_cast<double>(random_.next() >> 11) * 0x1p-53 >= intact) ++count;
  return count;
}

/// All that is sent in vain, in whole TLPs: the arbiter's turns are multiples of them.
std::uint64_t PcieReplay::bytes_in_vain(std::uint32_t count, std::uint32_t tlp) {
  const auto whole = [tlp](std::uint64_t bytes) { return divide_up(bytes + tlp, tlp) * tlp; };
  std::uint32_t timeouts = 0;
  if (config_.lost_naks != 0)
    timeouts = static_cast<std::uint32_t>((count_ + count) / config_.lost_naks -
                                          count_ / config_.lost_naks);
  timeouts_ += timeouts;
  return (count - timeouts) * whole(round_trip_bytes_) + timeouts * whole(timer_bytes_);
}

void PcieReplay::damage(Train& train) {
  const std::uint32_t count = std::min(damaged(train), train.tlps);
  if (count == 0) return;
  const std::uint64_t lost = bytes_in_vain(count, train.tlp_bytes);
  constexpr std::uint64_t kMostOnWire = 1 << 30;  // so that a train's bytes stay a 32-bit number
  count_ += count;
  lost_ += Bytes(lost);
  if (train.kind == TlpClass::kNonPosted || lost > kMostOnWire)
    train.eligible += byte_time_.of(Bytes(lost));
  else
    train.bytes += static_cast<std::uint32_t>(lost);
}

void PcieReplay::report(const MetricScope& scope) const {
  if (!active()) return;
  scope.count("tlps", count_, "TLPs that arrived damaged and were sent again");
  scope.count("timeouts", timeouts_, "of these, those that the replay timer brought back");
  scope.bytes("bytes", lost_, "wire bytes lost to sending again");
}

}  // namespace rnicsim
