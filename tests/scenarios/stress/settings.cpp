// SPDX-License-Identifier: MIT
#include "tests/scenarios/stress/settings.h"

#include <algorithm>
#include <initializer_list>

#include "model/random.h"
#include "tests/support/two_servers.h"

namespace rnicsim::stress {

namespace {

std::uint32_t one_of(Random& random, std::initializer_list<std::uint32_t> values) {
  return values.begin()[random.below(values.size())];
}

void vary_nic(Random& random, NicConfig& nic) {
  if (random.below(2) == 0) return;
  nic.qp_context_cache.geometry = {one_of(random, {1, 2, 4}), 4, Replacement::kLru};
  nic.key_cache.geometry = {one_of(random, {4, 8, 16}), 16, Replacement::kLru};
  nic.translation_cache.geometry = {one_of(random, {32, 64}), 8, Replacement::kLru};
  nic.responder.window = one_of(random, {1, 4, 32});
  nic.completer.window = one_of(random, {1, 4, 32});
  nic.atomic_unit.outstanding = one_of(random, {1, 4, 32});
  nic.atomic_unit.slots = one_of(random, {1, 64, 4096});
  nic.requester.transmit_buffer = Bytes(one_of(random, {8192, 65536}));
  nic.read_responder.buffer = Bytes(one_of(random, {8192, 65536}));
  nic.wqe_fetch.blocks_per_fetch = one_of(random, {1, 4, 8});
}

/// Draws of its own, so that a program is the same under each way of retransmission.
void vary_reordering(std::uint64_t seed, NicConfig& nic) {
  Random random(seed_for(seed, "reordering"));
  nic.reorder_buffer.window = one_of(random, {2, 16, 128, 128});
  nic.reorder_buffer.room = Bytes(one_of(random, {4096, 65536, 524288, 524288}));
}

void add_fault(Random& random, Scenario& scenario, FaultKind kind, double most) {
  FaultRule rule;
  rule.kind = kind;
  rule.probability = most * static_cast<double>(random.below(1000) + 1) / 1000.0;
  if (kind == FaultKind::kDelay)
    rule.delay = Time::ns(100 + static_cast<std::int64_t>(random.below(20000)));
  if (kind == FaultKind::kReorder) rule.behind = 1 + static_cast<std::uint32_t>(random.below(6));
  scenario.fabric.link.faults.push_back(rule);
}

void vary_faults(Random& random, Scenario& scenario, double most, bool repeats) {
  for (const FaultKind kind : {FaultKind::kDrop, FaultKind::kCorruptIcrc, FaultKind::kCorruptFcs,
                               FaultKind::kDuplicate, FaultKind::kReorder, FaultKind::kDelay}) {
    if (!repeats && (kind == FaultKind::kDuplicate || kind == FaultKind::kReorder)) continue;
    if (random.below(2) == 0) add_fault(random, scenario, kind, most);
  }
}

Settings mixed(std::uint64_t seed) {
  Random random(seed_for(seed % kProgramSeeds, "settings"));
  Settings s;
  s.seed = seed % kProgramSeeds;
  s.queue_pairs = 1 + static_cast<unsigned>(random.below(6));
  s.operations = 120 + static_cast<unsigned>(random.below(300));
  s.mtu = one_of(random, {256, 512, 1024, 2048, 4096});
  s.max_length = one_of(random, {600, 2000, kMaxLength});
  s.depth = one_of(random, {4, 16, 32});
  s.receives = one_of(random, {1, 4, 16, 32});
  s.pieces = one_of(random, {1, 2, 4});
  s.shared_receives = random.below(3) == 0;
  s.inline_receive = random.below(3) == 0;
  s.late_receives = random.below(2) == 0;
  s.max_reads = static_cast<std::uint8_t>(one_of(random, {1, 2, 16}));
  s.rnr_timer = static_cast<std::uint8_t>(one_of(random, {1, 2, 4}));
  s.scenario = test::two_servers();
  s.scenario.seed = s.seed;
  for (HostSpec& host : s.scenario.hosts) {
    NicConfig& nic = host.nics[0].config;
    vary_nic(random, nic);
    nic.retransmitter.mode = kRetransmissions[seed / kProgramSeeds];
    if (nic.retransmitter.is_selective()) vary_reordering(s.seed, nic);
    host.config.verbs.blue_flame = random.below(2) == 0;
  }
  return s;
}

Random faults_of(const Settings& s) { return Random(seed_for(s.seed, "faults")); }

Settings unreliable(std::uint64_t seed, bool repeats) {
  Settings s = mixed(seed);
  Random random = faults_of(s);
  s.transport = seed % 2 == 0 ? Transport::kUc : Transport::kUd;
  s.kinds = s.transport == Transport::kUc ? 1U << kWrite | 1U << kWriteImm | 1U << kSendImm
                                          : 1U << kSendImm;
  s.depth = 32;
  // Nothing slows a datagram's sender down, and a NIC may be made slower than the link.
  for (HostSpec& host : s.scenario.hosts)
    host.nics[0].config.mac_rx.receive_buffer = Bytes(1 << 26);
  vary_faults(random, s.scenario, 0.05, repeats);
  return s;
}

/// Some drivers bring in what was asked for and nothing else, and some NICs can owe few faults.
Settings on_demand(Settings s) {
  Random random(seed_for(s.seed, "paged"));
  s.on_demand = true;
  for (HostSpec& host : s.scenario.hosts) {
    host.config.driver.fault_ahead = Bytes(one_of(random, {0, 8192, 1 << 22}));
    host.nics[0].config.page_faults.outstanding = one_of(random, {1, 2, 64});
  }
  return s;
}

}  // namespace

bool Settings::has_fault(FaultKind kind) const {
  const auto& faults = scenario.fabric.link.faults;
  return std::any_of(faults.begin(), faults.end(),
                     [&](const FaultRule& rule) { return rule.kind == kind; });
}

Settings without_faults(std::uint64_t seed) {
  Settings s = mixed(seed);
  s.kinds = 1U << (s.seed % kKinds);
  s.plain = s.seed < kKinds;
  return s;
}

Settings with_faults(std::uint64_t seed) {
  Settings s = mixed(seed);
  Random random = faults_of(s);
  // Where a message must come through at one go a few losses more exhaust its retries.
  const Retransmission mode = s.scenario.hosts[0].nics[0].config.retransmitter.mode;
  vary_faults(random, s.scenario, mode == Retransmission::kGoBack0 ? 0.003 : 0.01, true);
  return s;
}

/// A link neither repeats a packet nor lets one overtake another.
Settings over_infiniband(std::uint64_t seed) {
  Settings s = mixed(seed);
  Random random = faults_of(s);
  const Retransmission mode = s.scenario.hosts[0].nics[0].config.retransmitter.mode;
  vary_faults(random, s.scenario, mode == Retransmission::kGoBack0 ? 0.003 : 0.01, false);
  s.scenario.fabric.link_layer = LinkLayer::kInfiniBand;
  s.scenario.fabric.infiniband = CreditConfig{};
  s.scenario.fabric.infiniband->data_lanes = 1 + static_cast<std::uint8_t>(random.below(8));
  s.scenario.fabric.infiniband->lane_buffer = Bytes(one_of(random, {8448, 16896, 131072}));
  return s;
}

Settings failing(std::uint64_t seed) {
  Settings s = mixed(seed);
  Random random = faults_of(s);
  s.may_fail = true;
  s.ack_timeout = static_cast<std::uint8_t>(one_of(random, {1, 3, 5}));
  s.retry_count = static_cast<std::uint8_t>(random.below(2));
  s.rnr_retry = static_cast<std::uint8_t>(one_of(random, {0, 1, 7}));
  s.wrong_keys = random.below(2) == 0;
  if (s.wrong_keys) {
    s.retry_count = s.rnr_retry = 7;
    s.ack_timeout = 5;
  }
  vary_faults(random, s.scenario, 0.02, true);
  if (random.below(3) == 0) {
    FaultRule down;
    down.kind = FaultKind::kDown;
    down.from = Time::us(300 + static_cast<std::int64_t>(random.below(500)));
    down.until = *down.from + Time::us(static_cast<std::int64_t>(random.below(1000)) + 1);
    s.scenario.fabric.link.faults.push_back(down);
  }
  return s;
}

/// Faults are mended one after the other, so an answer may take longer.
Settings paged(std::uint64_t seed) {
  Settings s = on_demand(seed % 2 == 0 ? mixed(seed) : with_faults(seed));
  s.ack_timeout = 8;
  return s;
}

Settings paged_failing(std::uint64_t seed) { return on_demand(failing(seed)); }

Settings unreliable(std::uint64_t seed) { return unreliable(seed, false); }

Settings unreliable_repeated(std::uint64_t seed) { return unreliable(seed, true); }

}  // namespace rnicsim::stress
