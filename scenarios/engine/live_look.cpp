// SPDX-License-Identifier: MIT
#include "scenarios/engine/live_look.h"

#include <map>
#include <nlohmann/json.hpp>

namespace rnicsim {

std::string live_look_to_text(const LiveLook& look) {
  nlohmann::json ports = nlohmann::json::array();
  for (const LiveLook::Port& p : look.ports)
    ports.push_back({p.path, p.rate, p.limit, p.paused, p.queued, p.queued_bytes});
  return nlohmann::json{look.now.ps(), look.since.ps(), std::move(ports), look.last}.dump();
}

LiveLook live_look_from_text(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  LiveLook look;
  look.now = Time::ps(json[0].get<std::int64_t>());
  look.since = Time::ps(json[1].get<std::int64_t>());
  for (const nlohmann::json& p : json[2])
    look.ports.push_back({p[0].get<std::string>(), p[1].get<double>(), p[2].get<double>(),
                          p[3].get<double>(), p[4].get<std::uint64_t>(), p[5].get<bool>()});
  look.last = json[3].get<bool>();
  return look;
}

LiveView::LiveView(const Signals& signals) : signals_(signals) {
  std::map<std::string, std::size_t> known;
  const auto port_of = [&](const Signal& signal) -> Port& {
    const std::string path = signal.path.substr(0, signal.path.rfind('.'));
    const auto [at, is_new] = known.emplace(path, ports_.size());
    if (is_new) ports_.push_back({path});
    return ports_[at->second];
  };
  for (const Signal& signal : signals_) {
    const std::string name = signal.path.substr(signal.path.rfind('.') + 1);
    if (name == "tx_bytes") port_of(signal).sent = &signal;
    if (name == "paused" && signal.kind == SignalKind::kTotal) port_of(signal).paused = &signal;
  }
  for (const Signal& signal : signals_) {
    const std::size_t dot = signal.path.rfind('.');
    const auto at = known.find(signal.path.substr(0, dot));
    const std::string name = signal.path.substr(dot + 1);
    if (at != known.end() && (name == "tx_queued" || name == "queued"))
      ports_[at->second].queued = &signal;
  }
}

LiveLook LiveView::look(Time now) {
  LiveLook look;
  look.now = now;
  look.since = before_;
  const Time passed = now - before_;
  before_ = now;
  for (Port& port : ports_) {
    LiveLook::Port seen;
    seen.path = port.path;
    const std::uint64_t sent = port.sent->read(now);
    seen.rate = 8 * static_cast<double>(sent - port.sent_before) / passed.as_s();
    seen.limit = static_cast<double>(port.sent->limit);
    port.sent_before = sent;
    if (port.paused != nullptr) {
      const std::uint64_t paused = port.paused->read(now);
      seen.paused =
          static_cast<double>(paused - port.paused_before) / static_cast<double>(passed.ps());
      port.paused_before = paused;
    }
    if (port.queued != nullptr) {
      seen.queued = port.queued->read(now);
      seen.queued_bytes = port.queued->unit == Unit::kBytes;
    }
    look.ports.push_back(std::move(seen));
  }
  return look;
}

}  // namespace rnicsim
