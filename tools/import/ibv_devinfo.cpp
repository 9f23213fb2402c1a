// SPDX-License-Identifier: MIT
#include "tools/import/ibv_devinfo.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace rnicsim {
namespace {

constexpr double kMostMbps = 1'600'000;

class HcaReader {
 public:
  HcaReader(const ListingLines& lines, const std::string& hca, Machine& machine)
      : lines_(lines), hca_(hca), machine_(machine) {}

  void read() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::size_t colon = lines_[i].find(':');
      if (colon == std::string_view::npos) continue;
      const std::string_view key = trimmed(lines_[i].substr(0, colon));
      const std::string_view value = trimmed(lines_[i].substr(colon + 1));
      if (key == "hca_id")
        begin(value);
      else if (inside_)
        take(i, key, value);
    }
    if (!found_) lines_.fail_at_end(hca_.empty() ? "\"hca_id:\"" : "\"hca_id: " + hca_ + "\"");
    if (others_ != 0 && hca_.empty())
      machine_.note(fmt::format("{}: took {}, the first of {} HCAs; --hca chooses", lines_.file(),
                                name_, others_ + 1));
    if (width_ && speed_) learn_rate();
  }

 private:
  void begin(std::string_view name) {
    inside_ = hca_.empty() ? !found_ : name == hca_;
    if (inside_) name_ = name;
    if (found_ && !inside_) ++others_;
    found_ = found_ || inside_;
    ports_ = 0;
  }

  void take(std::size_t i, std::string_view key, std::string_view value) {
    if (key == "port") ++ports_;
    if (key == "max_qp") learn_log(i, value, "driver.log_qps");
    if (key == "max_cq") learn_log(i, value, "driver.log_cqs");
    if (key == "max_mr") learn_log(i, value, "driver.log_keys");
    if (key == "max_srq") learn_log(i, value, "driver.log_srqs");
    if (key == "max_qp_rd_atom") remark(i, "a workload's max_rd_atomic can be at most", value);
    if (ports_ != 1) return;  // the first port's
    if (key == "active_mtu")
      remark(i, "a workload's path_mtu is", value.substr(0, value.find(' ')));
    if (key == "link_layer") remark(i, "fabric.link_layer is that of", value);
    if (key == "active_width") width_ = number_at(i, value, "\"4X (2)\" or the like");
    if (key == "active_speed") {
      speed_ = number_at(i, value, "\"25.0 Gbps (32)\" or the like");
      speed_line_ = i;
    }
  }

  void remark(std::size_t i, const char* words, std::string_view value) {
    machine_.note(fmt::format("{}:{}: {} {}", lines_.file(), i + 1, words, std::string(value)));
  }

  double number_at(std::size_t i, std::string_view value, const char* expected) const {
    double number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parsed.ec != std::errc() || !(number > 0) || number > 1e12)
      lines_.fail(i, expected, std::string(trimmed(lines_[i])));
    return number;
  }

  void learn_log(std::size_t i, std::string_view value, const char* path) {
    std::uint64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end)
      lines_.fail(i, "a whole number", std::string(trimmed(lines_[i])));
    constexpr int kMostBits = 24;
    int bits = 0;
    while (bits < 63 && std::uint64_t{1} << (bits + 1) <= number) ++bits;
    if (bits == 0) return remark(i, "too few for a table, the default stays:", value);
    if (bits > kMostBits) remark(i, "more than the 2^24 entries that a table can have:", value);
    bits = std::min(bits, kMostBits);
    machine_.learn(PresetKind::kHost, path, bits, lines_.place(i, std::string(trimmed(lines_[i]))));
  }

  void learn_rate() {
    // A lane of EDR is printed as 25.0 Gbps, one of FDR as 14.0 Gbps.
    const double mbps = std::round(*width_ * *speed_ * 1000);
    if (mbps < 1 || mbps > kMostMbps)
      lines_.fail(speed_line_, "1 Mb/s to 1600 Gb/s with its width", fmt::format("{} Mb/s", mbps));
    machine_.learn(
        PresetKind::kLink, "rate", rate_text(static_cast<std::uint64_t>(mbps)),
        lines_.place(speed_line_, fmt::format("{} lanes of {}", *width_,
                                              std::string(trimmed(lines_[speed_line_])))));
  }

  const ListingLines& lines_;
  const std::string& hca_;
  Machine& machine_;
  std::string name_;
  bool inside_ = false;
  bool found_ = false;
  std::size_t others_ = 0;
  unsigned ports_ = 0;
  std::optional<double> width_;
  std::optional<double> speed_;
  std::size_t speed_line_ = 0;
};

}  // namespace

void read_ibv_devinfo(std::string_view text, const std::string& file, const std::string& hca,
                      Machine& machine) {
  const ListingLines lines(text, file);
  HcaReader(lines, hca, machine).read();
}

}  // namespace rnicsim
