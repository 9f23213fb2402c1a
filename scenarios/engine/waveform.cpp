// SPDX-License-Identifier: MIT
#include "scenarios/engine/waveform.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <queue>
#include <tuple>

#include "model/config_error.h"
#include "model/quantity.h"
#include "scenarios/engine/time_series.h"

namespace rnicsim {
namespace {

/// Printable characters, the shortest names first.
std::string identifier(std::size_t number) {
  constexpr std::size_t kFirst = 33;
  constexpr std::size_t kCount = 94;
  std::string id;
  do {
    id += static_cast<char>(kFirst + number % kCount);
    number /= kCount;
  } while (number-- != 0);
  return id;
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t dot = 0; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1)
    parts.push_back(path.substr(begin, dot - begin));
  parts.push_back(path.substr(begin));
  return parts;
}

std::string binary(std::uint64_t value) {
  std::string digits;
  do digits += static_cast<char>('0' + (value & 1));
  while ((value >>= 1) != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  ConfigError::Detail detail;
  detail.file = file;
  detail.found = why;
  throw ConfigError(std::move(detail));
}

}  // namespace

Waveform::Waveform(const Scheduler& scheduler, const Signals& signals,
                   const WaveformOptions& options)
    : scheduler_(scheduler), options_(options) {
  signals_ = signals_matching(signals, {SignalKind::kState, SignalKind::kLevel}, options.glob);
  // Scopes are written once each.
  std::stable_sort(signals_.begin(), signals_.end(), [](const Signal& a, const Signal& b) {
    return parts_of(a.path) < parts_of(b.path);
  });
  shown_.resize(signals_.size());
  bits_.resize(signals_.size(), 1);
  stretches_.resize(signals_.size());
  for (std::uint32_t i = 0; i < signals_.size(); ++i) {
    if (signals_[i].report != nullptr) signals_[i].report->attach(this, i);
    if (signals_[i].read) shown_[i] = signals_[i].read(Time());
    add(Time(), i, shown_[i]);
  }
}

Waveform::~Waveform() {
  for (const Signal& signal : signals_)
    if (signal.report != nullptr) signal.report->attach(nullptr, 0);
}

Time Waveform::before(Time next) {
  if (next > options_.from) look(std::max(scheduler_.now(), options_.from));
  return next;
}

void Waveform::look(Time at) {
  for (std::uint32_t i = 0; i < signals_.size(); ++i) {
    if (!signals_[i].read) continue;
    const std::uint64_t value = signals_[i].read(at);
    if (value == shown_[i]) continue;
    shown_[i] = value;
    keep(1);
    add(at, i, value);
  }
}

void Waveform::in_state(std::uint32_t signal, Time from, Time until, std::uint64_t state) {
  if (until <= options_.from || from > options_.until) return;
  keep(2);
  stretches_[signal].push_back({from, until, state});
}

void Waveform::keep(std::size_t changes) {
  kept_ += changes;
  if (kept_ < kMostChanges || is_full_) return;
  is_full_ = true;
  options_.until = std::min(options_.until, scheduler_.now());
  std::cerr << options_.file << ": ends at " << to_text(options_.until) << ", after "
            << kMostChanges << " changes; --signals, --from and --until choose a part\n";
}

/// A state that began before the part that was asked for is its first value there.
void Waveform::add(Time at, std::uint32_t signal, std::uint64_t value) {
  if (at > options_.until) return;
  changes_.push_back({std::max(at, options_.from), signal, value});
}

/// Of stretches that overlap the one counts that began last, of several at once that reported last.
void Waveform::resolve(std::uint32_t signal) {
  std::vector<Stretch> all = std::move(stretches_[signal]);
  std::stable_sort(all.begin(), all.end(),
                   [](const Stretch& a, const Stretch& b) { return a.from < b.from; });
  std::priority_queue<std::size_t> open;  // the highest number began last
  std::uint64_t state = 0;
  const auto change = [&](Time at) {
    while (!open.empty() && all[open.top()].until <= at) open.pop();
    const std::uint64_t now = open.empty() ? 0 : all[open.top()].state;
    if (now != state) add(at, signal, now);
    state = now;
  };
  for (std::size_t next = 0; next < all.size() || !open.empty();) {
    if (!open.empty() && (next == all.size() || all[open.top()].until < all[next].from)) {
      change(all[open.top()].until);
      continue;
    }
    const Time at = all[next].from;
    while (next < all.size() && all[next].from == at) open.push(next++);
    change(at);
  }
}

void Waveform::close() {
  if (scheduler_.now() < options_.from)
    refuse(options_.file, "the run ended at " + to_text(scheduler_.now()) +
                              ", before the part that --from and --until ask for");
  look(scheduler_.now());
  options_.until = std::min(options_.until, scheduler_.now());
  for (std::uint32_t i = 0; i < signals_.size(); ++i) resolve(i);
  std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at, a.signal) < std::tie(b.at, b.signal);
  });
  measure_bits();
  std::ofstream out(options_.unfinished, std::ios::binary);
  write(out);
  out.close();
  if (!out) refuse(options_.file, std::string("cannot be written: ") + std::strerror(errno));
}

void Waveform::measure_bits() {
  std::vector<std::uint64_t> most(signals_.size());
  for (std::size_t i = 0; i < signals_.size(); ++i) most[i] = signals_[i].limit;
  for (const Change& change : changes_)
    most[change.signal] = std::max(most[change.signal], change.value);
  for (std::size_t i = 0; i < signals_.size(); ++i)
    while (signals_[i].kind == SignalKind::kLevel && bits_[i] < 64 && most[i] >> bits_[i] != 0)
      ++bits_[i];
}

void Waveform::write_names(std::ostream& out) const {
  std::vector<std::string> scope;
  for (std::size_t i = 0; i < signals_.size(); ++i) {
    std::vector<std::string> parts = parts_of(signals_[i].path);
    const std::string name = parts.back();
    parts.pop_back();
    std::size_t same = 0;
    while (same < scope.size() && same < parts.size() && scope[same] == parts[same]) ++same;
    for (std::size_t up = scope.size(); up > same; --up) out << "$upscope $end\n";
    for (std::size_t down = same; down < parts.size(); ++down)
      out << "$scope module " << parts[down] << " $end\n";
    scope = std::move(parts);
    out << "$var " << (signals_[i].kind == SignalKind::kState ? "string " : "wire ") << bits_[i]
        << ' ' << identifier(i) << ' ' << name << " $end\n";
  }
  for (std::size_t up = scope.size(); up > 0; --up) out << "$upscope $end\n";
}

std::string Waveform::value_text(std::uint32_t signal, std::uint64_t value) const {
  const Signal& at = signals_[signal];
  if (at.kind == SignalKind::kState) return 's' + at.states[value] + ' ' + identifier(signal);
  if (bits_[signal] == 1) return (value != 0 ? "1" : "0") + identifier(signal);
  return 'b' + binary(value) + ' ' + identifier(signal);
}

void Waveform::write(std::ostream& out) const {
  out << "$version rnicsim $end\n$timescale 1 ps $end\n";
  write_names(out);
  out << "$enddefinitions $end\n";
  Time at = Time::ps(-1);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const Change& change = changes_[i];
    const Change* const next = i + 1 < changes_.size() ? &changes_[i + 1] : nullptr;
    // What one instant comes to in the end.
    if (next != nullptr && next->at == change.at && next->signal == change.signal) continue;
    if (change.at != at) out << '#' << change.at.ps() << '\n';
    at = change.at;
    out << value_text(change.signal, change.value) << '\n';
  }
  if (options_.until > at) out << '#' << options_.until.ps() << '\n';
}

}  // namespace rnicsim
