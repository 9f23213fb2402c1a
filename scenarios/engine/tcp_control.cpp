// SPDX-License-Identifier: MIT
#include "scenarios/engine/tcp_control.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr Bytes kLeastBuffer{4096};

[[noreturn]] void wait_for_ever(CpuTask& task) {
  for (;;) task.block();
}

}  // namespace

TcpControl::TcpControl(System& system, const WorkloadSpec& spec, const Setting& setting)
    : port_(*spec.control_port),
      client_{{system, spec.from, setting.from_core}},
      server_{{system, spec.to, setting.to_core}},
      forth_(client_, server_, setting.elided, nullptr),
      back_(server_, client_, setting.elided, setting.timeline) {}

SocketOptions TcpControl::options() {
  SocketOptions options;
  options.nodelay = true;
  options.plane = CpuPlane::kControl;
  return options;
}

void TcpControl::accept(CpuTask& task) {
  server_.endpoint.open(task);
  TcpListener& listener = server_.endpoint.network().listen(task, port_, options());
  listening_.open(task);
  server_.socket = &listener.accept(task);
}

void TcpControl::connect(CpuTask& task) {
  client_.endpoint.open(task);
  listening_.pass(task);
  client_.socket = &client_.endpoint.network().connect(task, server_.endpoint.at(port_), options());
}

/// A program of the same process may be sending: then it closes.
void TcpControl::leave(CpuTask& task, const std::string& host) {
  Side& side = host == client_.endpoint.host() ? client_ : server_;
  if (side.socket == nullptr || side.left) return;
  side.left = true;
  if (!side.sending) close(task, side);
}

std::string TcpControl::trouble() const {
  for (const Side* side : {&client_, &server_})
    if (side->socket != nullptr && side->socket->failure())
      return name_of(*side->socket->failure());
  return {};
}

void TcpControl::close(CpuTask& task, Side& side) { side.socket->close(task); }

VirtualAddress TcpControl::Side::room(Buffer& buffer, Bytes bytes) {
  if (buffer.size < bytes) {
    buffer.size = std::max(bytes, kLeastBuffer);
    buffer.at = endpoint.map(buffer.size);
  }
  return buffer.at;
}

void TcpControl::Way::send(CpuTask& task, ControlMessage message) {
  task.settle();
  if (!from_.can_send()) return;
  const Bytes bytes(kPrefixBytes + message.size());
  const VirtualAddress at = from_.room(from_.out, bytes);
  std::uint8_t prefix[kPrefixBytes];
  store_be32(prefix, static_cast<std::uint32_t>(message.size()));
  PageTable& pages = from_.endpoint.pages;
  pages.store(at, prefix, kPrefixBytes);
  pages.store(VirtualAddress(at.value() + kPrefixBytes), message.data(), message.size());
  const TcpConnection& connection = from_.socket->connection();
  if (timeline_ != nullptr && messages_ == 0)
    timeline_->track_control(connection.mark_of_sent(connection.written(), bytes.count()),
                             from_.endpoint.host(), to_.endpoint.host());
  in_flight_.push({task.now(), std::move(message)});
  ++messages_;
  bytes_ += bytes;
  most_ = std::max(most_, in_flight_.size());
  from_.sending = true;
  from_.socket->send(task, pages, at, bytes);
  from_.sending = false;
  if (from_.left) close(task, from_);
}

ControlMessage TcpControl::Way::receive(CpuTask& task) {
  if (to_.socket == nullptr) wait_for_ever(task);
  const TcpConnection& connection = to_.socket->connection();
  const std::uint64_t begin = connection.consumed();
  read(task, Bytes(kPrefixBytes));
  ControlMessage message;
  if (elided_) {
    message = in_flight_.front().message;
  } else {
    std::uint8_t prefix[kPrefixBytes];
    to_.endpoint.pages.load(to_.in.at, prefix, kPrefixBytes);
    message.resize(load_be32(prefix));
  }
  read(task, Bytes(message.size()));
  if (!elided_) to_.endpoint.pages.load(to_.in.at, message.data(), message.size());
  probe()(task.now(), ProbeKind::kControlMessage, in_flight_.front().at, message.size(),
          connection.mark_of_received(begin, connection.consumed() - begin));
  in_flight_.pop();
  return message;
}

/// Into the buffer of what comes.
void TcpControl::Way::read(CpuTask& task, Bytes bytes) {
  const VirtualAddress at = to_.room(to_.in, bytes);
  const auto came =
      to_.socket->receive(task, to_.endpoint.pages, at, bytes, TcpSocket::Amount::kAll);
  if (came.value != bytes) wait_for_ever(task);
}

void TcpControl::Way::report(const MetricScope& scope) const {
  scope.count("messages", messages_, "messages sent");
  scope.bytes("bytes", bytes_, "bytes of these over TCP, with their lengths in front");
  scope.count("occupancy.max", most_, "most messages sent and not yet received");
}

}  // namespace rnicsim
