// SPDX-License-Identifier: MIT
#include "tools/rnicsim/live_display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "model/quantity.h"
#include "tools/export/value_text.h"

namespace rnicsim {
namespace {

constexpr std::size_t kMostPorts = 12;
constexpr int kBar = 20;

std::string bar_of(double share) {
  const int full = std::clamp(static_cast<int>(share * kBar + 0.5), 0, kBar);
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBar - full), '.');
}

bool did_something(const LiveLook::Port& port) {
  return port.rate > 0 || port.paused > 0 || port.queued != 0;
}

std::string line_of(const LiveLook::Port& port, std::size_t width) {
  const double share = port.limit > 0 ? port.rate / port.limit : 0;
  const std::string queued = port.queued_bytes
                                 ? short_text(static_cast<double>(port.queued), Unit::kBytes)
                                 : fmt::format("{} packets", port.queued);
  return fmt::format("  {:<{}}  {:>10}  {} {:>4.0f} %  queued {:>12}  paused {:>4.0f} %\n",
                     port.path, width, short_text(port.rate, Unit::kBitsPerSecond), bar_of(share),
                     100 * share, queued, 100 * port.paused);
}

}  // namespace

std::string live_text(const std::string& run, const LiveLook& look, std::size_t most) {
  std::vector<LiveLook::Port> ports;
  std::copy_if(look.ports.begin(), look.ports.end(), std::back_inserter(ports), did_something);
  std::stable_sort(ports.begin(), ports.end(),
                   [](const LiveLook::Port& a, const LiveLook::Port& b) {
                     return a.paused != b.paused ? a.paused > b.paused : a.rate > b.rate;
                   });
  const std::size_t left_out = ports.size() > most ? ports.size() - most : 0;
  ports.resize(ports.size() - left_out);
  std::size_t width = 0;
  for (const LiveLook::Port& port : ports) width = std::max(width, port.path.size());
  std::string text = fmt::format("{}: {} simulated, the last {}\n", run, to_text(look.now),
                                 to_text(look.now - look.since));
  for (const LiveLook::Port& port : ports) text += line_of(port, width);
  if (left_out != 0) text += fmt::format("  and {} other ports\n", left_out);
  return text;
}

LiveDisplay::LiveDisplay() : LiveDisplay(std::cerr, 0) {
  winsize size{};
  if (isatty(STDERR_FILENO) == 0) return;
  width_ = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

void LiveDisplay::print(const std::string& text) {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    out_ << text.substr(begin, std::min(end - begin, width_ - 1)) << '\n';
}

void LiveDisplay::show(const std::string& run, const LiveLook& look) {
  const std::string text = live_text(run, look, kMostPorts);
  if (width_ == 0) {
    if (!look.ports.empty()) out_ << text << std::flush;
    return;
  }
  if (lines_ != 0) out_ << "\033[" << lines_ << "A\033[J";
  std::string& block = blocks_[run];
  if (!look.ports.empty()) block = text;
  if (look.last) {
    print(block);
    blocks_.erase(run);
  }
  lines_ = 0;
  for (const auto& [name, of_run] : blocks_) {
    print(of_run);
    lines_ += static_cast<std::size_t>(std::count(of_run.begin(), of_run.end(), '\n'));
  }
  out_ << std::flush;
}

}  // namespace rnicsim
