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
    const Errno result = channels_.back()->open(task, parts_.driver, &plane_);
    if (result != Errno::kOk) return result;
  }
  return Errno::kOk;
}

// ---- What programs call ------------------------------------------------------------------------

void NetworkStack::enter(CpuTask& task, CpuPlane plane) {
  let_softirq_pass(task);
  task.core().usage().add_system_call(plane);
  task.run(plane, CpuCategory::kSyscall, config_.syscall);
}

void NetworkStack::let_softirq_pass(CpuTask& task) {
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
  if (!listener) listener.reset(new TcpListener(*this, port, options, backlog));
  return *listener;
}

TcpSocket& NetworkStack::connect(CpuTask& task, const TcpPeer& peer, const SocketOptions& options) {
  const Time begin = task.now();
  enter(task, CpuPlane::kControl);
  const std::uint16_t port = free_port();
  TcpSocket& socket = make(peer, port, options, channel_of(task.core()));
  connections_[key_of(peer.address.ip, peer.port, port)] = &socket;
  socket.connect(task);
  if (!socket.is_established()) return socket;
  steer(task, socket);
  probe_(task.now(), ProbeKind::kConnected, begin, 1, socket.connection().mark_of_sent(0, 0));
  return socket;
}

void NetworkStack::steer(CpuTask& task, const TcpSocket& socket) {
  if (!config_.flow_steering) return;
  abi::EthernetFlowRule rule;
  rule.source = socket.peer().address.ip;
  rule.destination = address_.ip;
  rule.source_port = socket.peer().port;
  rule.destination_port = socket.port();
  rule.queue = socket.channel_->receive_queue();
  // Without room for more rules RSS goes on.
  if (parts_.driver.set_flow_rule(task, next_rule_, rule) == Errno::kOk) ++next_rule_;
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
  if (options.plane == CpuPlane::kData) plane_ = CpuPlane::kData;
  sockets_.emplace_back(new TcpSocket(*this, config, ends, peer, options, channel));
  return *sockets_.back();
}

std::uint16_t NetworkStack::free_port() {
  if (next_port_ == 61000) next_port_ = 32768;
  return next_port_++;
}

std::uint32_t NetworkStack::burst_of(std::uint32_t segment_size) const {
  return config_.bursts() ? kLargestBurst - kLargestBurst % segment_size : segment_size;
}

// ---- From the network --------------------------------------------------------------------------

TcpSocket* NetworkStack::find(const ReceivedSegment& segment) const {
  const TcpHeader& tcp = segment.tcp.header;
  const auto at = connections_.find(key_of(segment.source, tcp.source_port, tcp.destination_port));
  return at == connections_.end() ? nullptr : at->second;
}

SegmentReceiver::Work NetworkStack::work_of(const ReceivedSegment& segment) {
  const TcpSocket* const socket = find(segment);
  return {socket != nullptr ? socket->options().plane : plane_,
          segment.is_acknowledgement() ? config_.receive_ack : config_.receive_segment};
}

void NetworkStack::receive(ReceivedSegment& segment, EthernetChannel& from,
                           KernelContext& context) {
  if (segment.is_acknowledgement()) ++counts_.acks_received;
  TcpSocket* socket = find(segment);
  // A connection that is over leaves its ports to the next.
  if (socket == nullptr || socket->connection().state() == TcpState::kClosed)
    socket = answer(segment, from);
  if (socket != nullptr)
    run_in(context, [&] { socket->take(segment, from); });
  else if (!segment.tcp.header.rst)
    refuse(segment, from, context);
  buffers_.give(segment.buffers);
}

/// A connection for somebody who listens.
TcpSocket* NetworkStack::answer(const ReceivedSegment& segment, EthernetChannel& from) {
  const TcpHeader& tcp = segment.tcp.header;
  const auto at = listeners_.find(tcp.destination_port);
  if (!tcp.syn || tcp.ack || at == listeners_.end()) return nullptr;
  TcpListener& listener = *at->second;
  if (listener.pending_ == listener.backlog_) return nullptr;
  ++listener.pending_;
  const TcpPeer peer{{segment.source_mac, segment.source}, tcp.source_port};
  TcpSocket& socket = make(peer, tcp.destination_port, listener.options_, from);
  socket.listener_ = &listener;
  socket.connection_.listen();
  connections_[key_of(segment.source, tcp.source_port, tcp.destination_port)] = &socket;
  return &socket;
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
  ++counts_.resets_sent;
  probe_(context.now(), ProbeKind::kResetSent, context.now(), 0, reset.header.mark(0));
  transmit(context, from, plane_, {segment.source_mac, segment.source}, reset, nullptr);
}

void NetworkStack::drop(KernelBufferList& buffers) {
  ++counts_.dropped;
  buffers_.give(buffers);
}

// ---- To the network ----------------------------------------------------------------------------

void NetworkStack::transmit(TcpSocket& socket, const TcpSegment& segment) {
  EthernetChannel& channel = *socket.channel_;
  if (segment.again && probe_.on())
    probe_(parts_.scheduler.now(), ProbeKind::kSegmentAgain, parts_.scheduler.now(),
           segment.header.syn || socket.connection().sender().has_timed_out() ? 1 : 0,
           segment.header.mark(segment.length));
  in_context(channel, socket.options().plane, [&](KernelContext& context) {
    transmit(context, channel, socket.options().plane, socket.peer().address, segment,
             segment.length != 0 ? &socket.sends_ : nullptr);
  });
}

void NetworkStack::transmit(KernelContext& context, EthernetChannel& channel, CpuPlane plane,
                            const NetworkAddress& to, const TcpSegment& segment,
                            const SendStore* sends) {
  const bool is_ack = segment.length == 0 && !segment.header.syn && !segment.header.fin;
  ++(is_ack ? counts_.acks_sent : counts_.bursts_sent);
  const Time begin = context.now();
  std::uint64_t frames = 0;
  context.charge(plane, CpuCategory::kProtocol,
                 is_ack ? config_.transmit_ack : config_.transmit_segment);
  context.charge(plane, CpuCategory::kSocketBuffers, config_.skb);
  std::uint32_t at = 0;
  do {
    TransmitFrame frame;
    const std::uint32_t length = fill(frame, segment, at, sends);
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
  probe_(made, is_ack ? ProbeKind::kAckMade : ProbeKind::kSegmentMade, begin, frames, mark);
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
  headers.ipv4.identification = identification_++;
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
  scope.count("resets_sent", counts_.resets_sent, "resets to who called nobody");
  scope.count("dropped", counts_.dropped, "frames dropped: not for TCP, or damaged");
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
