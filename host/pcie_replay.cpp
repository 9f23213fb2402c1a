// SPDX-License-Identifier: MIT
#include "host/pcie_replay.h"

#include <algorithm>
#include <cmath>

namespace rnicsim {

namespace {

constexpr std::uint64_t kSeed = 0x7265706c6179;

}  // namespace

void PcieReplayConfig::describe(Fields& fields) {
  fields.field("every", every, range(std::uint64_t{0}, std::uint64_t{1} << 40),
               "every how manieth TLP of a direction arrives damaged; 0: none");
  fields.field("bit_error_rate", bit_error_rate, range(0.0, 1e-3),
               "probability that a bit arrives wrong");
}

PcieReplay::PcieReplay(const PcieReplayConfig& config, const ByteTime& byte_time, Time round_trip)
    : config_(config),
      byte_time_(byte_time),
      round_trip_bytes_(static_cast<std::uint32_t>(
          static_cast<Uint128>(round_trip.ps()) * byte_time.denominator() / byte_time.numerator())),
      random_(kSeed) {}

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

void PcieReplay::damage(Train& train) {
  const std::uint32_t count = std::min(damaged(train), train.tlps);
  if (count == 0) return;
  // All that is sent in vain, in whole TLPs: the arbiter's turns are multiples of them.
  const std::uint32_t tlp = train.tlp_bytes;
  const std::uint32_t lost =
      count * static_cast<std::uint32_t>(divide_up(round_trip_bytes_ + tlp, tlp)) * tlp;
  count_ += count;
  lost_ += Bytes(lost);
  if (train.kind == TlpClass::kNonPosted)
    train.eligible += byte_time_.of(Bytes(lost));
  else
    train.bytes += lost;
}

void PcieReplay::report(const MetricScope& scope) const {
  if (!active()) return;
  scope.count("tlps", count_, "TLPs that arrived damaged and were sent again");
  scope.bytes("bytes", lost_, "wire bytes lost to sending again");
}

}  // namespace rnicsim
