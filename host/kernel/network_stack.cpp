// SPDX-License-Identifier: MIT
#include "host/kernel/network_stack.h"

#include <algorithm>
#include <string>

#include "model/tcp_segmentation.h"

namespace rnicsim {

namespace {

/// Payload of the largest burst: an IPv4 packet with the longest TCP header.
constexpr std::uint32_t kLargestBurst = 65535 - Ipv4Header::kBytes - TcpHeader::kMaxBytes;

std::uint64_t key_of(abi::Ipv4Address remote, std::uint16_t remote_port, std::uint16_t local_port) {
  return std::uint64_t{remote.value()} << 32 | std::uint64_t{remote_port} << 16 | local_port;
}

/// Without data and without a place in the stream; resets cost as much.
bool is_acknowledgement(const TcpSegment& segment) {
  return segment.length == 0 && !segment.header.syn && !segment.header.fin;
}

}  // namespace

NetworkStack::NetworkStack(const KernelConfig& config, const TcpConfig& tcp, const Parts& parts,
                           std::uint64_t seed)
    : config_(config),
      tcp_(tcp),
      parts_(parts),
      random_(seed),
      buffers_(parts.frames, config.receive_buffer),
      copy_(config_, parts.memory) {}

NetworkStack::~NetworkStack() = default;

Errno NetworkStack::open(CpuTask& task, const NetworkAddress& address) {
  if (!channels_.empty()) {
    while (!opened_) {
      awaiting_.push_back(&task);
      task.block();
    }
    return *opened_;
  }
  address_ = address;
  opened_ = open_channels(task);
  for (CpuTask* waiting : awaiting_) waiting->wake(parts_.scheduler.now());
  awaiting_.clear();
  return *opened_;
}

Errno NetworkStack::open_channels(CpuTask& task) {
  const EthernetChannel::Parts parts{parts_.scheduler,  config_,  parts_.memory,
                                     parts_.frames,     buffers_, parts_.mmio,
                                     parts_.interrupts, *this,    probe_};
  for (unsigned i = 0; i < config_.queues; ++i) {
    CpuCore& core = *parts_.cores[(config_.first_core + i) % parts_.cores.size()];
    channels_.push_back(std::make_unique<EthernetChannel>(parts, i, core));
    const Errno result = channels_.back()->open(task, parts_.driver);
    if (result != Errno::kOk) return result;
  }
  return Errno::kOk;
}

// ---- What programs call ------------------------------------------------------------------------

void NetworkStack::enter(CpuTask& task, CpuPlane plane) {
  let_softirq_pass(task);
  task.call_kernel(plane, config_.syscall);
}

void NetworkStack::let_softirq_pass(CpuTask& task) {
  task.settle();
  for (const auto& channel : channels_)
    if (&channel->core() == &task.core()) channel->let_pass(task);
}

EthernetChannel& NetworkStack::channel_of(const CpuCore& core) const {
  std::size_t number = 0;
  for (std::size_t i = 0; i < parts_.cores.size(); ++i)
    if (parts_.cores[i] == &core) number = i;
  for (const auto& channel : channels_)
    if (&channel->core() == &core) return *channel;
  return *channels_[number % channels_.size()];
}

TcpListener& NetworkStack::listen(CpuTask& task, std::uint16_t port, const SocketOptions& options,
                                  std::uint32_t backlog) {
  enter(task, CpuPlane::kControl);
  auto& listener = listeners_[port];
  if (!listener) listener.reset(new TcpListener(*this, port, options, backlog, interrupt_config()));
  return *listener;
}

TcpSocket& NetworkStack::connect(CpuTask& task, const TcpPeer& peer, const SocketOptions& options) {
  const Time begin = task.now();
  enter(task, CpuPlane::kControl);
  const std::uint16_t port = free_port(peer);
  TcpSocket& socket = make(peer, port, options, channel_of(task.core()));
  if (port == 0) {
    socket.failed(TcpFailure::kNoPort);
    return socket;
  }
  connections_[key_of(peer.address.ip, peer.port, port)] = &socket;
  socket.connect(task);
  if (!socket.is_established()) return socket;
  steer(task, socket);
  probe_(task.now(), ProbeKind::kConnected, begin, 1, socket.connection().mark_of_sent(0, 0));
  return socket;
}

void NetworkStack::steer(CpuTask& task, TcpSocket& socket) {
  if (!config_.flow_steering) return;
  abi::EthernetFlowRule rule;
  rule.source = socket.peer().address.ip;
  rule.destination = address_.ip;
  rule.source_port = socket.peer().port;
  rule.destination_port = socket.port();
  rule.queue = socket.channel_->receive_queue();
  const bool is_new = free_rules_.empty();
  const std::uint32_t number = is_new ? next_rule_++ : free_rules_.back();
  if (!is_new) free_rules_.pop_back();
  // Without room for more rules RSS goes on.
  if (parts_.driver.set_flow_rule(task, number, rule) == Errno::kOk)
    socket.flow_rule_ = number;
  else
    free_rules_.push_back(number);
}

void NetworkStack::unsteer(CpuTask& task, TcpSocket& socket) {
  if (!socket.flow_rule_) return;
  const std::uint32_t number = *socket.flow_rule_;
  socket.flow_rule_.reset();
  parts_.driver.clear_flow_rule(task, number);
  free_rules_.push_back(number);
}

TcpSocket& NetworkStack::make(const TcpPeer& peer, std::uint16_t port, const SocketOptions& options,
                              EthernetChannel& channel) {
  TcpConfig config = tcp_;
  if (options.nodelay) config.nagle = false;
  TcpConnection::Ends ends;
  ends.local_port = port;
  ends.remote_port = peer.port;
  ends.initial = TcpSeq(static_cast<std::uint32_t>(random_.next()));
  ends.mss =
      static_cast<std::uint32_t>(config_.mtu.count() - Ipv4Header::kBytes - TcpHeader::kBytes);
  ends.burst = config_.bursts() ? kLargestBurst : 0;
  sockets_.emplace_back(new TcpSocket(*this, config, ends, peer, options, channel));
  return *sockets_.back();
}

std::uint16_t NetworkStack::free_port(const TcpPeer& peer) {
  for (unsigned tried = kFirstPort; tried <= kLastPort; ++tried) {
    const std::uint16_t port = next_port_;
    next_port_ = port == kLastPort ? kFirstPort : static_cast<std::uint16_t>(port + 1);
    const auto at = connections_.find(key_of(peer.address.ip, peer.port, port));
    const bool is_used =
        at != connections_.end() && at->second->connection().state() != TcpState::kClosed;
    if (!is_used && listeners_.count(port) == 0) return port;
  }
  return 0;
}

std::uint32_t NetworkStack::burst_of(std::uint32_t segment_size) const {
  return config_.bursts() ? kLargestBurst - kLargestBurst % segment_size : segment_size;
}

// ---- From the network --------------------------------------------------------------------------

/// A connection that is over leaves its ports to the next.
TcpSocket* NetworkStack::find(abi::Ipv4Address source, const TcpHeader& tcp) const {
  const auto at = connections_.find(key_of(source, tcp.source_port, tcp.destination_port));
  if (at == connections_.end() || at->second->connection().state() == TcpState::kClosed)
    return nullptr;
  return at->second;
}

/// Who listens to what begins a connection.
TcpListener* NetworkStack::listener_for(const TcpHeader& tcp) const {
  const auto at = listeners_.find(tcp.destination_port);
  return tcp.syn && !tcp.ack && at != listeners_.end() ? at->second.get() : nullptr;
}

CpuPlane NetworkStack::plane_of(abi::Ipv4Address source, const TcpHeader& tcp) const {
  if (const TcpSocket* const socket = find(source, tcp)) return socket->options().plane;
  const TcpListener* const listener = listener_for(tcp);
  return listener != nullptr ? listener->options_.plane : CpuPlane::kControl;
}

SegmentReceiver::Work NetworkStack::work_of(const ReceivedSegment& segment) {
  return {plane_of(segment.source, segment.tcp.header),
          segment.is_acknowledgement() ? config_.receive_ack : config_.receive_segment};
}

void NetworkStack::receive(ReceivedSegment& segment, EthernetChannel& from,
                           KernelContext& context) {
  if (segment.is_acknowledgement()) ++counts_.acks_received;
  const TcpHeader& tcp = segment.tcp.header;
  TcpSocket* socket = find(segment.source, tcp);
  TcpListener* const listener = socket == nullptr ? listener_for(tcp) : nullptr;
  const bool has_room = listener != nullptr && !listener->is_full();
  if (has_room) socket = &answer(*listener, segment, from);
  if (socket != nullptr)
    run_in(context, [&] { socket->take(segment, from); });
  else if (listener != nullptr)
    ++counts_.backlog_full;
  else if (!tcp.rst)
    refuse(segment, from, context);
  buffers_.give(segment.buffers);
}

/// A connection for somebody who listens.
TcpSocket& NetworkStack::answer(TcpListener& listener, const ReceivedSegment& segment,
                                EthernetChannel& from) {
  const TcpHeader& tcp = segment.tcp.header;
  ++listener.pending_;
  const TcpPeer peer{{segment.source_mac, segment.source}, tcp.source_port};
  TcpSocket& socket = make(peer, tcp.destination_port, listener.options_, from);
  socket.listener_ = &listener;
  socket.connection_.listen();
  connections_[key_of(segment.source, tcp.source_port, tcp.destination_port)] = &socket;
  return socket;
}

/// Nobody is there (RFC 9293, 3.10.7.1).
void NetworkStack::refuse(const ReceivedSegment& segment, EthernetChannel& from,
                          KernelContext& context) {
  const TcpHeader& tcp = segment.tcp.header;
  TcpSegment reset;
  reset.header.source_port = tcp.destination_port;
  reset.header.destination_port = tcp.source_port;
  reset.header.rst = true;
  if (tcp.ack) {
    reset.header.sequence = tcp.acknowledgement;
  } else {
    reset.header.ack = true;
    reset.header.acknowledgement =
        tcp.sequence + (segment.tcp.length + (tcp.syn ? 1U : 0U) + (tcp.fin ? 1U : 0U));
  }
  probe_(context.now(), ProbeKind::kResetSent, context.now(), 0, reset.header.mark(0));
  transmit(context, from, {segment.source_mac, segment.source}, reset, nullptr);
}

void NetworkStack::drop(KernelBufferList& buffers) {
  ++counts_.dropped;
  buffers_.give(buffers);
}

// ---- To the network ----------------------------------------------------------------------------

void NetworkStack::transmit(TcpSocket& socket, const TcpSegment& segment) {
  // A probe of a closed window has nothing in it that was lost.
  if (segment.again && !is_acknowledgement(segment) && probe_.on())
    probe_(parts_.scheduler.now(), ProbeKind::kSegmentAgain, parts_.scheduler.now(),
           static_cast<std::uint64_t>(socket.connection().why_again(segment)),
           segment.header.mark(segment.length));
  in_context(socket, [&](KernelContext& context) {
    transmit(context, *socket.channel_, socket.peer().address, segment, &socket);
  });
}

void NetworkStack::count(const TcpSegment& segment) {
  if (segment.header.rst)
    ++counts_.resets_sent;
  else
    ++(is_acknowledgement(segment) ? counts_.acks_sent : counts_.bursts_sent);
}

void NetworkStack::transmit(KernelContext& context, EthernetChannel& channel,
                            const NetworkAddress& to, const TcpSegment& segment,
                            TcpSocket* socket) {
  const CpuPlane plane = socket != nullptr ? socket->options().plane : CpuPlane::kControl;
  SendStore* const sends = segment.length != 0 ? &socket->sends_ : nullptr;
  count(segment);
  const Time begin = context.now();
  std::uint64_t frames = 0;
  context.charge(plane, CpuCategory::kProtocol,
                 is_acknowledgement(segment) ? config_.transmit_ack : config_.transmit_segment);
  context.charge(plane, CpuCategory::kSocketBuffers, config_.skb);
  std::uint32_t at = 0;
  do {
    TransmitFrame frame;
    const std::uint32_t length = fill(frame, segment, at, sends);
    if (socket != nullptr) frame.owner = socket;
    frame.position = segment.offset + at;
    frame.length = length;
    if (length != 0) sends->frame_made(frame.position, length);
    if (at != 0) context.charge(plane, CpuCategory::kSocketBuffers, config_.slice);
    if (!config_.checksum_offload)
      context.charge(plane, CpuCategory::kChecksum,
                     Cycles(divide_up(length, config_.checksum_bytes_per_cycle)));
    finish(frame, to, segment, at, length);
    context.charge(plane, CpuCategory::kPosting, config_.transmit);
    channel.transmit(frame);
    at += length;
    ++frames;
  } while (at < segment.length);
  const Time made = context.now();
  const Time rung = context.charge(plane, CpuCategory::kDoorbell, config_.doorbell);
  channel.ring(rung);
  if (!probe_.on()) return;
  const TcpMark mark = segment.header.mark(segment.length);
  probe_(made, is_acknowledgement(segment) ? ProbeKind::kAckMade : ProbeKind::kSegmentMade, begin,
         frames, mark);
  probe_(rung, ProbeKind::kSegmentRung, made, frames, mark);
}

/// As much of the segment from its `at`-th byte on as the next frame can hold; returns how much.
std::uint32_t NetworkStack::fill(TransmitFrame& frame, const TcpSegment& segment, std::uint32_t at,
                                 const SendStore* sends) const {
  if (sends == nullptr) return 0;
  const std::uint32_t left = segment.length - at;
  const std::uint32_t size = segment.segment_size;
  std::uint32_t wanted = config_.tso ? left : std::min(left, size);
  const auto collect = [&] {
    std::uint32_t length = 0;
    for (frame.pieces = 0; length < wanted && frame.pieces < TransmitFrame::kMaxPieces;
         ++frame.pieces) {
      const SendStore::Run run = sends->find(segment.offset + at + length, wanted - length);
      frame.piece[frame.pieces] = {run.at, static_cast<std::uint32_t>(run.bytes)};
      length += static_cast<std::uint32_t>(run.bytes);
    }
    return length;
  };
  const std::uint32_t length = collect();
  if (length == wanted || length < size || length % size == 0) return length;
  wanted = length - length % size;
  return collect();
}

void NetworkStack::finish(TransmitFrame& frame, const NetworkAddress& to, const TcpSegment& segment,
                          std::uint32_t at, std::uint32_t length) {
  FrameHeaders headers;
  headers.eth.destination = to.mac;
  headers.eth.source = address_.mac;
  headers.ipv4.source = address_.ip;
  headers.ipv4.destination = to.ip;
  headers.ipv4.dscp = config_.dscp;
  headers.ipv4.ecn = segment.ecn;
  headers.ipv4.identification = identification_;
  // The NIC counts on for the segments that it cuts.
  const std::uint64_t packets =
      length == 0 ? 1 : divide_up(std::uint64_t{length}, segment.segment_size);
  identification_ = static_cast<std::uint16_t>(identification_ + packets);
  headers.tcp = tcp_slice(segment.header, at, at + length == segment.length);
  headers.payload = length;
  frame.header_bytes = static_cast<std::uint16_t>(headers.bytes());
  frame.flags = abi::EthernetTransmitDescriptor::kSignaled;
  std::uint16_t checksum = 0;
  if (config_.checksum_offload) {
    frame.flags |= abi::EthernetTransmitDescriptor::kChecksum;
  } else {
    scratch_.clear();
    for (std::size_t i = 0; i < frame.pieces; ++i) {
      const std::size_t begin = scratch_.size();
      scratch_.resize(begin + frame.piece[i].bytes);
      parts_.memory.load(frame.piece[i].address, scratch_.data() + begin, frame.piece[i].bytes);
    }
    checksum = tcp_checksum(headers, scratch_.data());
  }
  if (length > segment.segment_size && length != 0) {
    frame.flags |= abi::EthernetTransmitDescriptor::kSegment;
    frame.segment_size = static_cast<std::uint16_t>(segment.segment_size);
  }
  headers.write(frame.headers, checksum);
}

// ---- Metrics -----------------------------------------------------------------------------------

void NetworkStack::report(const MetricScope& scope) const {
  if (!is_open()) return;
  EthernetChannel::Counts sum;
  for (const auto& channel : channels_) {
    const EthernetChannel::Counts& counts = channel->counts();
    sum.frames_sent += counts.frames_sent;
    sum.frames_received += counts.frames_received;
    sum.segments_received += counts.segments_received;
    sum.rounds += counts.rounds;
    sum.no_memory += counts.no_memory;
    sum.waited += counts.waited;
  }
  scope.count("frames_sent", sum.frames_sent, "frames and bursts given to the NIC");
  scope.count("frames_received", sum.frames_received, "frames taken from the NIC");
  scope.count("segments_received", sum.segments_received, "segments handed to TCP, after merging");
  scope.count("polls", sum.rounds, "rounds of polling in softirq");
  scope.count("ring_full", sum.waited, "frames that waited for a transmit descriptor");
  scope.count("no_buffers", sum.no_memory, "times that no memory was left for a receive buffer");
  scope.count("bursts_sent", counts_.bursts_sent, "segments and bursts that TCP sent with data");
  scope.count("acks_sent", counts_.acks_sent, "acknowledgements without data that TCP sent");
  scope.count("acks_received", counts_.acks_received, "acknowledgements without data that came");
  scope.count("resets_sent", counts_.resets_sent, "resets sent: nobody is there, or reads");
  scope.count("dropped", counts_.dropped, "frames dropped: not for TCP, or damaged");
  scope.count("backlog_full", counts_.backlog_full, "SYNs dropped: too many wait for accept");
  scope.count("timers", counts_.timers, "timers of TCP that ran out");
  scope.count("wakeups", counts_.wakeups, "programs that were woken");
  scope.count("copy_lines", copy_.lines(), "cache lines that copies have read");
  scope.count("copy_misses", copy_.missed(), "of these, lines that came from DRAM");
  scope.count("pages_pinned", counts_.pages_pinned, "pages that zero-copy sends have pinned");
  scope.bytes("not_copied", counts_.not_copied, "payload sent from where it stood");
  for (std::size_t i = 0; i < sockets_.size(); ++i)
    sockets_[i]->connection().report(scope.child("connection" + std::to_string(i)));
}

}  // namespace rnicsim
