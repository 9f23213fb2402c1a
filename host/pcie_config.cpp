// SPDX-License-Identifier: MIT
#include "host/pcie_config.h"

#include <algorithm>

namespace rnicsim {

void PcieConfig::describe(Fields& fields) {
  const auto payload_sizes = range(Bytes(128), Bytes(4096)).power_of_two();
  const auto latencies = range(Time(), Time::us(100));
  fields.field("generation", generation, range(1, 7), "PCIe generation");
  fields.field("lanes", lanes, range(1, 32).power_of_two(), "width of the link");
  fields.field("max_payload", max_payload, payload_sizes, "largest payload of one TLP (MPS)");
  fields.field("max_read_request", max_read_request, payload_sizes,
               "largest read request of one TLP (MRRS)");
  fields.field("read_completion_boundary", read_completion_boundary, one_of(Bytes(64), Bytes(128)),
               "where completions may be cut (RCB)");
  fields.field("max_completion", max_completion, range(Bytes(64), Bytes(4096)).power_of_two(),
               "largest completion payload that the root complex makes, if below max_payload");
  fields.field("address_64", address_64, "requests carry 64-bit addresses (4 B more)");
  fields.field("ecrc", ecrc, "TLPs carry an end-to-end CRC (4 B more)");
  fields.choice("accounting", accounting,
                {{"full", PcieAccounting::kFull}, {"atc16", PcieAccounting::kAtc16}},
                "full: headers of the specification, DLLPs and SKP ordered sets lower the rate; "
                "atc16: 26 B a request, 22 B a completion of up to 128 B, the raw rate");
  fields.field("latency_up", latency_up, latencies,
               "device to root complex, besides the time of the bytes");
  fields.field("latency_down", latency_down, latencies,
               "root complex to device, besides the time of the bytes");
  fields.field("root_complex_latency", root_complex_latency, latencies,
               "through the root complex, each way");
  fields.field("credit_return_latency", credit_return_latency, latencies,
               "from a TLP's arrival to the sender having its credits again");
  fields.field("posted_headers", posted_headers, range(2, 65535),
               "posted header credits that each receiver advertises");
  fields.field("posted_data", posted_data, range(Bytes(256), Bytes(1 << 20)),
               "buffer for posted data that each receiver advertises");
  fields.field("nonposted_headers", nonposted_headers, range(1, 65535),
               "read requests that each receiver buffers");
  fields.field("tag_bits", tag_bits, one_of(5U, 8U, 10U),
               "bits of a tag on the whole way: 32, 256 or, of 10 bits, 768 read requests a NIC");
  fields.optional("trained", trained, "what the link came to, if less than it could be");
  fields.object("replay", replay, "TLPs that arrive damaged and are sent again");
  fields.optional("ordered_writes", ordered_writes, range(Bytes(64), Bytes(1 << 20)),
                  "writes without relaxed ordering that the root complex has under way to memory "
                  "at a time; no limit if not given");
  fields.check(!trained || (trained->generation <= generation && trained->lanes <= lanes),
               "trained", "must not be above generation and lanes");
  fields.check(posted_data >= max_payload * 2, "posted_data", "must hold two max_payload");
  fields.check(max_completion >= read_completion_boundary, "max_completion",
               "must be at least read_completion_boundary");
}

void PcieTraining::describe(Fields& fields) {
  fields.field("generation", generation, range(1, 7), "generation that it runs at");
  fields.field("lanes", lanes, range(1, 32).power_of_two(), "lanes that it runs at");
}

std::uint32_t PcieConfig::max_tags() const {
  // Of the 1024 values of 10 bits the 256 that begin with 00 are those of 8-bit tags, not used.
  constexpr std::uint32_t kTenBitTags = 768;
  return tag_bits == 10 ? kTenBitTags : 1U << tag_bits;
}

PcieFormat PcieConfig::format() const {
  const bool atc16 = accounting == PcieAccounting::kAtc16;
  const bool flits = active_generation() >= kFirstFlitGeneration;
  PcieFormat format = atc16   ? PcieFormat::atc16()
                      : flits ? PcieFormat::flit(address_64, ecrc)
                              : PcieFormat::standard(address_64, ecrc);
  format.max_payload = max_payload;
  format.max_read_request = max_read_request;
  format.read_completion_boundary = read_completion_boundary;
  format.max_completion = std::min(format.max_completion, max_completion);
  return format;
}

BitRate PcieConfig::rate() const {
  return accounting == PcieAccounting::kAtc16
             ? pcie_raw_rate(active_generation(), active_lanes())
             : pcie_link_rate(active_generation(), active_lanes(), max_payload);
}

PcieDirectionConfig PcieConfig::direction(Time latency) const {
  PcieDirectionConfig direction;
  direction.rate = rate();
  direction.max_tlp = max_payload + format().write_overhead;
  direction.posted = {posted_headers,
                      static_cast<std::uint32_t>(posted_data.count() / kPcieCreditBytes)};
  direction.nonposted = {nonposted_headers, 0};
  direction.credit_return = latency + credit_return_latency;
  direction.replay = replay;
  direction.replay_round_trip = latency_up + latency_down;
  return direction;
}

}  // namespace rnicsim
