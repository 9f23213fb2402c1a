// SPDX-License-Identifier: MIT
#include "host/pcie_arithmetic.h"

#include <algorithm>
#include <array>

namespace rnicsim {

namespace {

struct Generation {
  std::uint64_t transfers_per_second;  ///< of one lane
  std::uint32_t coding_payload;
  std::uint32_t coding_total;
  std::uint32_t internal_delay;  ///< symbol times, PCIe Base Specification 3.6.2.1
};

constexpr std::array<Generation, 7> kGenerations = {{
    {2500000000, 8, 10, 19},
    {5000000000, 8, 10, 70},
    {8000000000, 128, 130, 115},
    {16000000000, 128, 130, 115},
    {32000000000, 128, 130, 115},
    {64000000000, 242, 256, 115},
    {128000000000, 242, 256, 115},
}};

const Generation& generation_of(unsigned generation) { return kGenerations.at(generation - 1); }

/// TLPs that one ACK may cover, in tenths (the specification's AckFactor), by payload and width.
std::uint32_t ack_factor(unsigned lanes, Bytes max_payload) {
  constexpr std::array<std::array<std::uint32_t, 6>, 3> kFactors = {
      {{14, 14, 14, 25, 30, 30}, {14, 14, 14, 25, 30, 30}, {10, 10, 10, 10, 20, 20}}};
  const unsigned row = max_payload <= Bytes(128) ? 0 : max_payload <= Bytes(256) ? 1 : 2;
  unsigned column = 0;
  while ((1U << column) < lanes) ++column;
  return kFactors.at(row).at(column);
}

constexpr Uint128 greatest_common_divisor(Uint128 a, Uint128 b) {
  while (b != 0) {
    const Uint128 r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/// Calls piece(bytes) for the parts of [address, address + bytes) between 4 KiB boundaries; whole
/// pages come in one call with their count.
template <class Piece>
void for_each_page(PhysicalAddress address, std::uint64_t bytes, Piece piece) {
  const std::uint64_t offset = address.value() % kPciePageBytes;
  const std::uint64_t first = std::min<std::uint64_t>(bytes, kPciePageBytes - offset);
  piece(offset, first, 1);
  bytes -= first;
  if (bytes >= kPciePageBytes) piece(0, kPciePageBytes, bytes / kPciePageBytes);
  if (bytes % kPciePageBytes != 0) piece(0, bytes % kPciePageBytes, 1);
}

std::uint32_t credits_of(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(divide_up(bytes, kPcieCreditBytes));
}

struct Pieces {
  std::uint64_t tlps = 0;
  std::uint64_t data_credits = 0;
};

/// The completions of one read request.
Pieces completions_of(const PcieFormat& format, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t limit = format.completion_payload().count();
  if (bytes <= limit) return {1, credits_of(bytes)};
  const std::uint64_t first = limit - offset % format.read_completion_boundary.count();
  const std::uint64_t rest = bytes - first;
  return {1 + divide_up(rest, limit),
          credits_of(first) + rest / limit * credits_of(limit) + credits_of(rest % limit)};
}

}  // namespace

BitRate pcie_raw_rate(unsigned generation, unsigned lanes) {
  const Generation& g = generation_of(generation);
  return BitRate(g.transfers_per_second * lanes * g.coding_payload, g.coding_total);
}

std::uint32_t pcie_update_interval(unsigned generation, unsigned lanes, Bytes max_payload) {
  constexpr std::uint64_t kTlpOverhead = 28;
  const std::uint64_t covered =
      (max_payload.count() + kTlpOverhead) * ack_factor(lanes, max_payload);
  return static_cast<std::uint32_t>(covered / (std::uint64_t{10} * lanes)) +
         generation_of(generation).internal_delay;
}

BitRate pcie_tlp_rate(unsigned generation, unsigned lanes, Bytes max_payload) {
  constexpr std::uint64_t kDllpBytes = 8;
  const std::uint64_t interval = pcie_update_interval(generation, lanes, max_payload);
  const BitRate raw = pcie_raw_rate(generation, lanes);
  const std::uint64_t whole = interval * kPcieSkipInterval;
  const std::uint64_t lost = 2 * kDllpBytes * kPcieSkipInterval + kPcieSkipBytes * interval;
  const Uint128 numerator = static_cast<Uint128>(raw.numerator()) * (whole - lost);
  const Uint128 denominator = static_cast<Uint128>(raw.denominator()) * whole;
  const Uint128 divisor = greatest_common_divisor(numerator, denominator);
  return BitRate(static_cast<std::uint64_t>(numerator / divisor),
                 static_cast<std::uint64_t>(denominator / divisor));
}

BitRate pcie_flit_rate(unsigned generation, unsigned lanes) {
  constexpr std::uint32_t kTlpBytes = 236;
  constexpr std::uint32_t kFlitBytes = 256;
  return BitRate(generation_of(generation).transfers_per_second * lanes * kTlpBytes, kFlitBytes);
}

BitRate pcie_link_rate(unsigned generation, unsigned lanes, Bytes max_payload) {
  return generation >= kFirstFlitGeneration ? pcie_flit_rate(generation, lanes)
                                            : pcie_tlp_rate(generation, lanes, max_payload);
}

PcieFormat PcieFormat::standard(bool address_64, bool ecrc) {
  const std::uint64_t digest = ecrc ? 4 : 0;
  PcieFormat format;
  format.write_overhead = Bytes((address_64 ? 24 : 20) + digest);
  format.read_overhead = format.write_overhead;
  format.completion_overhead = Bytes(20 + digest);
  return format;
}

PcieFormat PcieFormat::flit(bool address_64, bool ecrc) {
  constexpr Bytes kLinkLayer(8);
  PcieFormat format = standard(address_64, ecrc);
  format.write_overhead -= kLinkLayer;
  format.read_overhead -= kLinkLayer;
  format.completion_overhead -= kLinkLayer;
  return format;
}

PcieFormat PcieFormat::atc16() {
  PcieFormat format;
  format.max_completion = Bytes(128);
  format.write_overhead = Bytes(26);
  format.read_overhead = Bytes(26);
  format.completion_overhead = Bytes(22);
  return format;
}

TlpSplit split_write(const PcieFormat& format, PhysicalAddress address, Bytes bytes) {
  const std::uint64_t limit = format.max_payload.count();
  Pieces sum;
  for_each_page(address, bytes.count(), [&](std::uint64_t, std::uint64_t length, std::uint64_t n) {
    sum.tlps += divide_up(length, limit) * n;
    sum.data_credits += (length / limit * credits_of(limit) + credits_of(length % limit)) * n;
  });
  return {static_cast<std::uint32_t>(sum.tlps), static_cast<std::uint32_t>(sum.data_credits),
          bytes + format.write_overhead * sum.tlps};
}

TlpSplit split_read(const PcieFormat& format, PhysicalAddress address, Bytes bytes) {
  const std::uint64_t limit = format.max_read_request.count();
  std::uint64_t tlps = 0;
  for_each_page(address, bytes.count(), [&](std::uint64_t, std::uint64_t length, std::uint64_t n) {
    tlps += divide_up(length, limit) * n;
  });
  return {static_cast<std::uint32_t>(tlps), 0, format.read_overhead * tlps};
}

TlpSplit split_completion(const PcieFormat& format, PhysicalAddress address, Bytes bytes) {
  const std::uint64_t limit = format.max_read_request.count();
  Pieces sum;
  const auto add = [&](const Pieces& pieces, std::uint64_t n) {
    sum.tlps += pieces.tlps * n;
    sum.data_credits += pieces.data_credits * n;
  };
  for_each_page(address, bytes.count(),
                [&](std::uint64_t offset, std::uint64_t length, std::uint64_t n) {
                  // MRRS is a multiple of RCB, so all whole requests of a page split alike.
                  const std::uint64_t whole = length / limit;
                  if (whole != 0) add(completions_of(format, offset, limit), whole * n);
                  if (length % limit != 0) add(completions_of(format, offset, length % limit), n);
                });
  return {static_cast<std::uint32_t>(sum.tlps), static_cast<std::uint32_t>(sum.data_credits),
          bytes + format.completion_overhead * sum.tlps};
}

}  // namespace rnicsim
