// SPDX-License-Identifier: MIT
#include "tools/export/value_text.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "model/quantity.h"

namespace rnicsim {
namespace {

struct Scale {
  double factor;
  const char* unit;
};

/// In the largest of the scales (ascending) that the value reaches.
std::string scaled(double value, std::initializer_list<Scale> scales) {
  const Scale* chosen = scales.begin();
  for (const Scale& scale : scales)
    if (std::abs(value) >= scale.factor * 0.99995) chosen = &scale;
  return fmt::format("{:.4g}{}", value / chosen->factor, chosen->unit);
}

std::string plain(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::abs(value) < kExact) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

}  // namespace

std::string short_text(double value, Unit unit) {
  if (std::isnan(value)) return "nothing";
  switch (unit) {
    case Unit::kPicoseconds:
      if (value == 0) return "0 ns";
      return scaled(value, {{1, " ps"}, {1e3, " ns"}, {1e6, " us"}, {1e9, " ms"}, {1e12, " s"}});
    case Unit::kBytes:
      return scaled(value, {{1, " B"},
                            {1024, " KiB"},
                            {1048576, " MiB"},
                            {1073741824, " GiB"},
                            {1099511627776.0, " TiB"}});
    case Unit::kBitsPerSecond:
      return scaled(value, {{1, " b/s"}, {1e3, " Kb/s"}, {1e6, " Mb/s"}, {1e9, " Gb/s"}});
    case Unit::kPerSecond:
      return count_text(std::round(value)) + "/s";
    case Unit::kCycles:
      return plain(value) + " cycles";
    case Unit::kRatio:
      return fmt::format("{:.4g}", value);
    case Unit::kCount:
      break;
  }
  return plain(value);
}

std::string exact_text(double value, Unit unit) {
  if (std::isnan(value)) return "nothing";
  constexpr double kExact = 9007199254740992.0;
  const bool whole = value >= 0 && value == std::floor(value) && value < kExact;
  if (whole && value != 0 && unit == Unit::kPicoseconds)
    return to_text(Time::ps(static_cast<std::int64_t>(value)));
  if (whole && unit == Unit::kBytes) return to_text(Bytes(static_cast<std::uint64_t>(value)));
  if (whole && unit == Unit::kBitsPerSecond && value != 0)
    return to_text(BitRate(static_cast<std::uint64_t>(value)));
  if (unit == Unit::kRatio) return fmt::format("{:.8g}", value);
  return short_text(value, unit);
}

std::string short_text(Time value) {
  return short_text(static_cast<double>(value.ps()), Unit::kPicoseconds);
}

std::string short_text(Bytes value) {
  return short_text(static_cast<double>(value.count()), Unit::kBytes);
}

std::string count_text(double value) {
  if (std::abs(value) < 1e6) return plain(value);
  return scaled(value, {{1e6, " M"}, {1e9, " G"}});
}

}  // namespace rnicsim
