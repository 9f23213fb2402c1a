// SPDX-License-Identifier: MIT
#include "scenarios/engine/tcp_exchange.h"

#include <fmt/format.h>

#include <algorithm>

namespace rnicsim {

TcpExchange::TcpExchange(System& system, const WorkloadSpec& spec, const Setting& setting,
                         std::vector<Round> rounds, std::function<void()> active)
    : spec_(spec),
      setting_(setting),
      rounds_(std::move(rounds)),
      active_(std::move(active)),
      client_{{system, spec.from, setting.client_core}, {system.scheduler(), setting.name}},
      server_{{system, spec.to, setting.server_core}, {system.scheduler(), setting.name}} {
  for (std::size_t i = 0; i < rounds_.size(); ++i) ready_.push_back(std::make_unique<Gate>());
  server_.programs.start(server_.endpoint.core(), "server",
                         [this](CpuTask& task) { server(task); });
  client_.programs.start(client_.endpoint.core(), "client",
                         [this](CpuTask& task) { client(task); });
}

SocketOptions TcpExchange::options() const {
  SocketOptions options;
  options.nodelay = spec_.tcp->nodelay;
  options.busy_poll = spec_.tcp->busy_poll;
  options.elided = setting_.elided;
  return options;
}

/// Of a stream the server's calls may end within a message; an answer needs the whole of it.
Bytes TcpExchange::receive_size(const Round& round) const {
  return round.response == Bytes(0) ? spec_.tcp->receive_size.value_or(round.size) : round.size;
}

StreamCheck TcpExchange::requests_of(const Round& round) const {
  return {setting_.seed, round.size, round.places, !spec_.tcp->zero_copy};
}

StreamCheck TcpExchange::responses_of(const Round& round) const {
  return {~setting_.seed, round.response, 1, true};
}

template <class BytesOf>
Bytes TcpExchange::most(BytesOf bytes_of) const {
  Bytes most;
  for (const Round& round : rounds_) most = std::max(most, bytes_of(round));
  return most;
}

void TcpExchange::prepare(CpuTask& task, Side& side, Bytes out, Bytes in) {
  task.sleep_until(spec_.start);
  side.doing = "opening the network interface";
  side.endpoint.open(task);
  if (out != Bytes(0)) side.out = side.endpoint.map(out);
  if (in != Bytes(0)) side.in = side.endpoint.map(in);
}

bool TcpExchange::send(CpuTask& task, Side& side, std::uint64_t place, Bytes bytes) {
  const VirtualAddress from(side.out.value() + place);
  if (side.socket->send(task, side.endpoint.pages, from, bytes).value == bytes) return true;
  failure_ = side.socket->failure();
  return false;
}

/// Less than what was asked for, with kAll: the connection has ended.
Bytes TcpExchange::receive(CpuTask& task, Side& side, Bytes bytes, TcpSocket::Amount amount,
                           StreamCheck& check) {
  const Bytes came = side.socket->receive(task, side.endpoint.pages, side.in, bytes, amount).value;
  if (came == Bytes(0) || (amount == TcpSocket::Amount::kAll && came != bytes))
    failure_ = side.socket->failure();
  if (!setting_.elided) mismatched_ += check.compare(side.endpoint.pages, side.in, came.count());
  return came;
}

void TcpExchange::client(CpuTask& task) {
  prepare(task, client_, most([](const Round& r) { return r.size * r.places; }),
          most([](const Round& r) { return r.response; }));
  client_.doing = "waiting for the server to listen";
  listening_.pass(task);
  client_.doing = "connecting";
  SocketOptions wanted = options();
  wanted.zero_copy = spec_.tcp->zero_copy;
  client_.socket =
      &client_.endpoint.network().connect(task, server_.endpoint.at(setting_.port), wanted);
  if (!client_.socket->is_established()) {
    failure_ = client_.socket->failure();
    return;
  }
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    client_.doing = "waiting for the server to be ready";
    ready_[i]->pass(task);
    task.settle();
    if (i == 0) active_();
    client_.doing = rounds_[i].response == Bytes(0) ? "sending" : "sending and waiting for answers";
    if (!talk(task, rounds_[i])) return;
  }
  end(task, client_);
}

/// The next message that the client sends.
void TcpExchange::track(Bytes bytes) {
  if (setting_.timeline == nullptr || setting_.tracked == 0) return;
  --setting_.tracked;
  const TcpConnection& connection = client_.socket->connection();
  setting_.timeline->track_tcp(connection.mark_of_sent(connection.written(), bytes.count()),
                               client_.endpoint.host(), server_.endpoint.host());
}

/// False: the connection has failed.
bool TcpExchange::talk(CpuTask& task, Round& round) {
  StreamCheck requests = requests_of(round);
  StreamCheck responses = responses_of(round);
  if (!setting_.elided) requests.fill(client_.endpoint.pages, client_.out);
  for (std::uint64_t i = 0; i < round.count; ++i) {
    if (!setting_.elided) requests.number(client_.endpoint.pages, client_.out, i);
    track(round.size);
    round.sent.push_back(task.now());
    if (!send(task, client_, requests.place_of(i), round.size)) return false;
    if (round.response == Bytes(0)) continue;
    if (receive(task, client_, round.response, TcpSocket::Amount::kAll, responses) !=
        round.response)
      return false;
    round.done.push_back(task.now());
  }
  return true;
}

void TcpExchange::server(CpuTask& task) {
  prepare(task, server_, most([](const Round& r) { return r.response; }),
          most([this](const Round& r) { return receive_size(r); }));
  TcpListener& listener = server_.endpoint.network().listen(task, setting_.port, options());
  listening_.open(task);
  server_.doing = "waiting for the client to connect";
  server_.socket = &listener.accept(task);
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    ready_[i]->open(task);
    server_.doing = rounds_[i].response == Bytes(0) ? "receiving" : "receiving and answering";
    if (!listen_to(task, rounds_[i])) return;
  }
  task.settle();
  active_();
  server_.doing = "waiting for the stream's end";
  read_to_end(task);
  end(task, server_);
}

bool TcpExchange::listen_to(CpuTask& task, Round& round) {
  StreamCheck requests = requests_of(round);
  return round.response == Bytes(0) ? take_stream(task, round, requests)
                                    : answer(task, round, requests);
}

bool TcpExchange::take_stream(CpuTask& task, Round& round, StreamCheck& check) {
  const Bytes all = round.size * round.count;
  Bytes taken;
  while (taken < all) {
    const Bytes came = receive(task, server_, std::min(receive_size(round), all - taken),
                               TcpSocket::Amount::kSome, check);
    if (came == Bytes(0)) return false;
    taken += came;
    round.done.resize(taken / round.size, task.now());
  }
  return true;
}

bool TcpExchange::answer(CpuTask& task, Round& round, StreamCheck& check) {
  StreamCheck responses = responses_of(round);
  if (!setting_.elided) responses.fill(server_.endpoint.pages, server_.out);
  for (std::uint64_t i = 0; i < round.count; ++i) {
    if (receive(task, server_, round.size, TcpSocket::Amount::kAll, check) != round.size)
      return false;
    if (!setting_.elided) responses.number(server_.endpoint.pages, server_.out, i);
    if (!send(task, server_, 0, round.response)) return false;
  }
  return true;
}

/// Nothing may come that nobody has sent.
void TcpExchange::read_to_end(CpuTask& task) {
  mismatched_ +=
      server_.socket
          ->receive(task, server_.endpoint.pages, server_.in, Bytes(1), TcpSocket::Amount::kSome)
          .value.count();
}

void TcpExchange::end(CpuTask& task, Side& side) {
  side.doing = "closing";
  side.socket->await_pages(task);
  side.socket->close(task);
  side.doing = "done";
}

std::uint64_t TcpExchange::completed() const {
  std::uint64_t sum = 0;
  for (const Round& round : rounds_) sum += round.done.size();
  return sum;
}

std::uint64_t TcpExchange::transferred() const {
  std::uint64_t sum = 0;
  for (const Round& round : rounds_)
    sum += round.done.size() * (round.size + round.response).count();
  return sum;
}

std::vector<std::string> TcpExchange::waiting_for() const {
  std::uint64_t all = 0;
  for (const Round& round : rounds_) all += round.count;
  const std::string progress =
      ", " + std::to_string(completed()) + " of " + std::to_string(all) + " messages done";
  std::vector<std::string> lines;
  for (const Side* side : {&client_, &server_}) {
    const std::string who =
        fmt::format("workload {} on host {}: ", spec_.name, side->endpoint.host());
    if (!side->programs.finished())
      lines.push_back(fmt::format("{}{}{}", who, side->doing, progress));
    else if (failure_)
      lines.push_back(fmt::format("{}the connection {} while {}{}", who, name_of(*failure_),
                                  side->doing, progress));
  }
  return lines;
}

}  // namespace rnicsim
