// SPDX-License-Identifier: MIT
#include "host/pcie_arithmetic.h"

#include <catch2/catch.hpp>
#include <random>

#include "host/pcie_config.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

constexpr PhysicalAddress kAligned(0x10000);

/// Printed to two decimals, so half of the last digit; the published model's own tolerance is 0.1
/// %.
auto printed(double value) { return Approx(value).margin(0.0051).epsilon(0); }

double payload_gbps(BitRate rate, Bytes payload, TlpSplit split) {
  return rate.as_gbps() * static_cast<double>(payload.count()) /
         static_cast<double>(split.link_bytes.count());
}

/// Splits as a plain loop over TLPs does.
TlpSplit slow_write(const PcieFormat& f, std::uint64_t address, std::uint64_t bytes) {
  TlpSplit sum;
  while (bytes != 0) {
    const std::uint64_t n = std::min({bytes, f.max_payload.count(), 4096 - address % 4096});
    ++sum.tlps;
    sum.data_credits += static_cast<std::uint32_t>((n + 15) / 16);
    sum.link_bytes += Bytes(n) + f.write_overhead;
    address += n;
    bytes -= n;
  }
  return sum;
}

TlpSplit slow_completion(const PcieFormat& f, std::uint64_t address, std::uint64_t bytes) {
  TlpSplit sum;
  const std::uint64_t limit = f.completion_payload().count();
  while (bytes != 0) {
    std::uint64_t request = std::min({bytes, f.max_read_request.count(), 4096 - address % 4096});
    bytes -= request;
    while (request != 0) {
      std::uint64_t n = request;
      if (n > limit) {
        const std::uint64_t rcb = f.read_completion_boundary.count();
        n = (address + limit) / rcb * rcb - address;
        CHECK((address + n) % rcb == 0);
      }
      ++sum.tlps;
      sum.data_credits += static_cast<std::uint32_t>((n + 15) / 16);
      sum.link_bytes += Bytes(n) + f.completion_overhead;
      address += n;
      request -= n;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("Raw rates are those of the specification, exactly") {
  CHECK(pcie_raw_rate(1, 8) == BitRate::gbps(16));
  CHECK(pcie_raw_rate(2, 8) == BitRate::gbps(32));
  CHECK(pcie_raw_rate(3, 8) == BitRate(64000000000ULL * 128, 130));
  CHECK(pcie_raw_rate(3, 8).as_gbps() == printed(63.02));
  CHECK(pcie_raw_rate(4, 8).as_gbps() == printed(126.03));
  CHECK(pcie_raw_rate(5, 8).as_gbps() == printed(252.06));
  CHECK(pcie_raw_rate(6, 8) == BitRate::gbps(484));
  CHECK(pcie_raw_rate(6, 16) == BitRate::gbps(968));
  CHECK(pcie_raw_rate(7, 1) == BitRate(121000000000ULL));
}

TEST_CASE("ACK and flow-control intervals follow the specification's tables") {
  const std::uint32_t gen3_x8[] = {163, 203, 182, 246, 374, 630};
  const std::uint32_t gen1_x1[] = {237, 416, 559, 1071, 2095, 4143};
  const std::uint32_t gen1_x4[] = {73, 118, 154, 282, 538, 1050};
  const std::uint32_t gen2_x2[] = {179, 268, 340, 596, 1108, 2132};
  const std::uint32_t gen3_x16[] = {144, 168, 182, 246, 374, 630};
  for (unsigned i = 0; i < 6; ++i) {
    const Bytes mps(128U << i);
    CHECK(pcie_update_interval(3, 8, mps) == gen3_x8[i]);
    CHECK(pcie_update_interval(5, 8, mps) == gen3_x8[i]);
    CHECK(pcie_update_interval(1, 1, mps) == gen1_x1[i]);
    CHECK(pcie_update_interval(1, 4, mps) == gen1_x4[i]);
    CHECK(pcie_update_interval(2, 2, mps) == gen2_x2[i]);
    CHECK(pcie_update_interval(3, 16, mps) == gen3_x16[i]);
  }
  CHECK(pcie_update_interval(2, 8, 256_B) == 158);
  CHECK(pcie_update_interval(1, 8, 256_B) == 107);
}

TEST_CASE("Rates for TLPs agree with the published model") {
  struct Row {
    unsigned generation, lanes;
    double gbps;
  };
  for (const Row& row :
       {Row{1, 8, 13.57}, Row{2, 8, 28.68}, Row{3, 8, 57.88}, Row{3, 16, 113.70}, Row{4, 8, 115.77},
        Row{4, 16, 227.40}, Row{5, 8, 231.54}, Row{5, 16, 454.80}, Row{6, 16, 873.29}}) {
    INFO("generation " << row.generation << " x" << row.lanes);
    CHECK(pcie_tlp_rate(row.generation, row.lanes, 256_B).as_gbps() == printed(row.gbps));
  }
}

TEST_CASE("Every generation, width and payload size has an exact rate below the raw one") {
  for (unsigned generation = 1; generation <= 7; ++generation)
    for (unsigned lanes = 1; lanes <= 32; lanes *= 2)
      for (std::uint64_t mps = 128; mps <= 4096; mps *= 2) {
        const double rate = pcie_tlp_rate(generation, lanes, Bytes(mps)).as_gbps();
        const double raw = pcie_raw_rate(generation, lanes).as_gbps();
        const double interval = pcie_update_interval(generation, lanes, Bytes(mps));
        CHECK(rate == Approx(raw * (1 - 16 / interval - 4.0 / 1538)).epsilon(1e-12));
      }
}

TEST_CASE("Large-transfer ceilings of the published model") {
  struct Row {
    unsigned generation, lanes;
    double write[3], read[3];
  };
  const Row rows[] = {
      {2, 8, {23.22, 26.22, 26.92}, {23.85, 26.60, 27.12}},
      {3, 8, {47.72, 52.92, 54.75}, {49.01, 53.69, 55.16}},
      {3, 16, {94.06, 103.95, 109.49}, {96.61, 105.46, 110.31}},
      {4, 8, {95.44, 105.85, 109.49}, {98.02, 107.38, 110.31}},
      {4, 16, {188.13, 207.91, 218.98}, {193.21, 210.92, 220.63}},
      {5, 16, {376.25, 415.82, 437.96}, {386.42, 421.84, 441.26}},
  };
  for (const Row& row : rows)
    for (unsigned i = 0; i < 3; ++i) {
      PcieFormat format;
      format.max_payload = Bytes(128U << i);
      const BitRate rate = pcie_tlp_rate(row.generation, row.lanes, format.max_payload);
      const Bytes size(1 << 20);
      INFO("generation " << row.generation << " x" << row.lanes << " MPS "
                         << format.max_payload.count());
      CHECK(payload_gbps(rate, size, split_write(format, kAligned, size)) == printed(row.write[i]));
      CHECK(payload_gbps(rate, size, split_completion(format, kAligned, size)) ==
            printed(row.read[i]));
    }
}

TEST_CASE("Payload rates by size of the published model, Gen3 x8, MPS 256, MRRS 512") {
  struct Row {
    std::uint64_t size;
    double write, read;
  };
  const Row rows[] = {{16, 23.15, 25.73},  {32, 33.08, 35.62},  {64, 42.10, 44.10},
                      {65, 42.28, 44.26},  {128, 48.75, 50.06}, {129, 48.80, 50.11},
                      {192, 51.45, 52.42}, {256, 52.92, 53.69}, {257, 48.78, 50.09},
                      {320, 50.33, 51.45}, {384, 51.45, 52.42}, {512, 52.92, 53.69},
                      {513, 50.76, 51.82}, {768, 52.92, 53.69}, {1280, 52.92, 53.69}};
  const PcieFormat format;
  const BitRate rate = pcie_tlp_rate(3, 8, 256_B);
  for (const Row& row : rows) {
    const Bytes size(row.size);
    INFO("size " << row.size);
    CHECK(payload_gbps(rate, size, split_write(format, kAligned, size)) == printed(row.write));
    CHECK(payload_gbps(rate, size, split_completion(format, kAligned, size)) == printed(row.read));
  }
  CHECK(split_read(format, kAligned, 4096_B).link_bytes == Bytes(8 * 24));
  CHECK(split_read(format, kAligned, 513_B).link_bytes == Bytes(2 * 24));
}

TEST_CASE("Old chipsets complete in chunks of 64 B") {
  PcieFormat format;
  format.max_completion = 64_B;
  CHECK(split_completion(format, kAligned, 512_B).link_bytes == Bytes(512 + 8 * 20));
}

TEST_CASE("Bytes of each TLP besides its payload") {
  CHECK(PcieFormat::standard(true, false).write_overhead == 24_B);
  CHECK(PcieFormat::standard(true, false).read_overhead == 24_B);
  CHECK(PcieFormat::standard(false, false).write_overhead == 20_B);
  CHECK(PcieFormat::standard(true, false).completion_overhead == 20_B);
  CHECK(PcieFormat::standard(true, true).completion_overhead == 24_B);
  CHECK(PcieFormat::standard(true, true).write_overhead == 28_B);
  const PcieConfig defaults;
  CHECK(defaults.generation == 3);
  CHECK(defaults.lanes == 8);
  CHECK(defaults.max_payload == 256_B);
  CHECK(defaults.max_read_request == 512_B);
  CHECK(defaults.read_completion_boundary == 64_B);
  CHECK(split_write(defaults.format(), kAligned, 4_B).link_bytes == 28_B);  // an MSI
}

TEST_CASE("A doorbell and the fetch of ten 128 B WQEs are 1534 B from CPU to NIC") {
  PcieConfig config;
  config.accounting = PcieAccounting::kAtc16;
  const PcieFormat format = config.format();
  const Bytes doorbell = split_write(format, kAligned, 8_B).link_bytes;
  const Bytes fetch = split_completion(format, kAligned, Bytes(10 * 128)).link_bytes;
  CHECK(doorbell == Bytes(8 + 26));
  CHECK(fetch == Bytes(1280 + 10 * 22));
  CHECK(doorbell + fetch == 1534_B);
  CHECK(config.rate() == pcie_raw_rate(3, 8));
  // The same ten WQEs of 65 B by write-combined MMIO: two 64 B lines each.
  CHECK(split_write(format, kAligned, 64_B).link_bytes * 20 == 1800_B);
}

TEST_CASE("Gen3 x16 lets 105 M/s of 128 B WQEs be fetched and 87.5 M/s be stored") {
  const PcieFormat format = PcieFormat::atc16();
  const double bytes_per_second = pcie_raw_rate(3, 16).as_gbps() * 1e9 / 8;
  const auto millions = [&](Bytes link_bytes) {
    return bytes_per_second / static_cast<double>(link_bytes.count()) / 1e6;
  };
  CHECK(millions(split_completion(format, kAligned, 128_B).link_bytes) == printed(105.03));
  CHECK(millions(split_write(format, kAligned, 64_B).link_bytes * 2) == printed(87.52));
}

TEST_CASE("Splitting agrees with a plain loop at any address and size") {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    PcieFormat format;
    format.max_payload = Bytes(128U << random() % 6);
    format.max_read_request = Bytes(128U << random() % 6);
    format.read_completion_boundary = Bytes(64U << random() % 2);
    const std::uint64_t address = random() % 20000;
    const std::uint64_t bytes = 1 + random() % (random() % 2 == 0 ? 4096 : 20000);
    const TlpSplit write = split_write(format, PhysicalAddress(address), Bytes(bytes));
    const TlpSplit slow = slow_write(format, address, bytes);
    REQUIRE(write.tlps == slow.tlps);
    REQUIRE(write.data_credits == slow.data_credits);
    REQUIRE(write.link_bytes == slow.link_bytes);
    const TlpSplit completion = split_completion(format, PhysicalAddress(address), Bytes(bytes));
    const TlpSplit slowly = slow_completion(format, address, bytes);
    REQUIRE(completion.tlps == slowly.tlps);
    REQUIRE(completion.data_credits == slowly.data_credits);
    REQUIRE(completion.link_bytes == slowly.link_bytes);
  }
}
