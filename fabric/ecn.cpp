// SPDX-License-Identifier: MIT
#include "fabric/ecn.h"

#include <cmath>

namespace rnicsim {

namespace {

constexpr unsigned kChanceBits = 53;
constexpr double kChances = 9007199254740992.;  // 2^53

}  // namespace

void EcnConfig::describe(Fields& fields) {
  fields.required().field("priority", priority, range(0, 7), "of which queues");
  fields.field("kmin", kmin, range(Bytes(0), Bytes(1ULL << 32)),
               "bytes waiting up to which nothing is marked");
  fields.field("kmax", kmax, range(Bytes(0), Bytes(1ULL << 32)),
               "bytes waiting above which everything is marked");
  fields.field("pmax", pmax, range(0., 1.), "share of packets marked at kmax");
  fields.check(kmin <= kmax, "kmin", "must not be above kmax");
}

EcnMarker::EcnMarker(const EcnConfig& config)
    : kmin_(config.kmin.count()), kmax_(config.kmax.count()) {
  if (kmax_ > kmin_)
    slope_ = static_cast<std::uint64_t>(
        std::llround(config.pmax * kChances / static_cast<double>(kmax_ - kmin_)));
}

bool EcnMarker::marks(Bytes waiting, Random& random) const {
  if (waiting.count() <= kmin_) return false;
  if (waiting.count() > kmax_) return true;
  return random.next() >> (64 - kChanceBits) < slope_ * (waiting.count() - kmin_);
}

}  // namespace rnicsim
