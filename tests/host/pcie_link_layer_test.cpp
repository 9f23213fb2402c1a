// SPDX-License-Identifier: MIT
#include "host/pcie_link_layer.h"

#include <catch2/catch.hpp>

using namespace rnicsim;
using namespace rnicsim::literals;

TEST_CASE("Of the raw bytes of Gen3 x8 each 203 take an ACK and a flow-control update") {
  const PcieLinkLayer layer({}, Bytes(1'000'000'000));
  // 63.015 Gb/s of the lines, 57.880 of them for TLPs.
  CHECK(static_cast<double>(layer.raw.count()) == Approx(1.08871e9).epsilon(1e-4));
  CHECK(layer.raw.count() / layer.acks == 203);
  CHECK(layer.updates == layer.acks);
  CHECK(static_cast<double>(layer.raw.count()) / static_cast<double>(layer.skips.count()) ==
        Approx(1538.0 / 4));
  const Bytes rest = layer.raw - layer.skips - Bytes(8 * (layer.acks + layer.updates));
  CHECK(static_cast<double>(rest.count()) == Approx(1e9).epsilon(1e-6));
}

TEST_CASE("FLITs and the ATC 2016 accounting have no DLLPs of their own") {
  PcieConfig flits;
  flits.generation = 6;
  CHECK(PcieLinkLayer(flits, Bytes(1'000'000)).acks == 0);
  PcieConfig atc16;
  atc16.accounting = PcieAccounting::kAtc16;
  const PcieLinkLayer layer(atc16, Bytes(1'000'000));
  CHECK(layer.raw == Bytes(1'000'000));
  CHECK(layer.acks == 0);
  CHECK(layer.skips == Bytes());
}
