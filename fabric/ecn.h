// SPDX-License-Identifier: MIT
// Explicit congestion notification at an egress queue (RFC 3168; the marking curve of DCQCN and of
// RED without averaging): a packet that leaves is marked with a probability that grows from 0 at
// `kmin` to `pmax` at `kmax` bytes waiting behind it and itself, and always above. kmin = kmax is a
// step. Packets that are not ECN capable are left alone.
#pragma once

#include "model/config_reader.h"
#include "model/packet.h"
#include "model/random.h"
#include "model/units.h"

namespace rnicsim {

struct EcnConfig {
  std::uint8_t priority = 3;
  Bytes kmin{100 * 1024};
  Bytes kmax{400 * 1024};
  double pmax = 0.2;
  void describe(Fields& fields);
};

class EcnMarker {
 public:
  EcnMarker() = default;  ///< never marks
  explicit EcnMarker(const EcnConfig& config);
  /// Whether a packet that leaves a queue of `waiting` bytes is to be marked.
  bool marks(Bytes waiting, Random& random) const;

 private:
  std::uint64_t kmin_ = ~0ULL;
  std::uint64_t kmax_ = ~0ULL;
  std::uint64_t slope_ = 0;  ///< chance in 2^-53 for each byte beyond kmin
};

inline bool is_ecn_capable(const Packet& packet) {
  return packet.ipv4.ecn == Ecn::kCapable0 || packet.ipv4.ecn == Ecn::kCapable1;
}

}  // namespace rnicsim
