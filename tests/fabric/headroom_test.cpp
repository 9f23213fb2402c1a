// SPDX-License-Identifier: MIT
#include "fabric/headroom.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

const std::vector<std::uint64_t> kMetres = {5, 40, 100, 300};

/// The columns of a row of the formulas' published outputs.
std::vector<std::uint64_t> spectrum_row(const SpectrumAsic& asic, std::uint64_t gbps) {
  std::vector<std::uint64_t> row;
  for (const std::uint64_t metres : kMetres)
    row.push_back(spectrum_headroom(asic, BitRate::gbps(gbps), Length::m(metres), 9100_B, 1024_B, 1)
                      .xoff.count());
  return row;
}

std::vector<std::uint64_t> mlx5_row(std::uint64_t gbps, Bytes mtu) {
  std::vector<std::uint64_t> row;
  for (const std::uint64_t metres : {5, 100, 300})
    row.push_back(mlx5_headroom(BitRate::gbps(gbps), Length::m(metres), mtu).count());
  return row;
}

using Row = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("SONiC's headroom for Spectrum comes out to the byte") {
  CHECK(spectrum_row(kSpectrum1, 25) == Row{31744, 33792, 37888, 49152});
  CHECK(spectrum_row(kSpectrum1, 40) == Row{36864, 39936, 46080, 65536});
  CHECK(spectrum_row(kSpectrum1, 100) == Row{72704, 80896, 95232, 144384});
  CHECK(spectrum_row(kSpectrum1, 200) == Row{80896, 98304, 126976, 225280});
  CHECK(spectrum_row(kSpectrum1, 400) == Row{140288, 175104, 233472, 429056});
}

TEST_CASE("SONiC's headroom for Spectrum-2 and -3 comes out to the byte") {
  CHECK(spectrum_row(kSpectrum2, 25) == Row{35840, 37888, 41984, 56320});
  CHECK(spectrum_row(kSpectrum2, 40) == Row{40960, 45056, 52224, 73728});
  CHECK(spectrum_row(kSpectrum2, 100) == Row{81920, 92160, 108544, 163840});
  CHECK(spectrum_row(kSpectrum2, 200) == Row{92160, 111616, 144384, 256000});
  CHECK(spectrum_row(kSpectrum2, 400) == Row{159744, 198656, 265216, 487424});
}

TEST_CASE("Spectrum's XON is its pipeline, and its buffer both together") {
  const SpectrumHeadroom headroom =
      spectrum_headroom(kSpectrum1, BitRate::gbps(100), Length::m(5), 9100_B, 1024_B, 1);
  CHECK(headroom.xon == 19_KiB);
  CHECK(headroom.size() == 19_KiB + 72704_B);
}

TEST_CASE("the mlx5 driver's headroom comes out to the byte") {
  CHECK(mlx5_row(40, 9216_B) == Row{37540, 45748, 63028});
  CHECK(mlx5_row(100, 9216_B) == Row{56248, 76768, 119968});
  CHECK(mlx5_row(200, 9216_B) == Row{87428, 128468, 214868});
  CHECK(mlx5_row(400, 9216_B) == Row{149788, 231868, 404668});
  CHECK(mlx5_row(40, 1500_B) == Row{16552, 24760, 42040});
  CHECK(mlx5_row(100, 1500_B) == Row{35260, 55780, 98980});
  CHECK(mlx5_row(200, 1500_B) == Row{66440, 107480, 193880});
  CHECK(mlx5_row(400, 1500_B) == Row{128800, 210880, 383680});
}
