// SPDX-License-Identifier: MIT
#include "host/kernel/tcp_socket.h"

#include <algorithm>

#include "host/kernel/network_stack.h"

namespace rnicsim {

namespace {
constexpr std::uint64_t kPage = 4096;
}  // namespace

TcpSocket::TcpSocket(NetworkStack& stack, const TcpConfig& config, const TcpConnection::Ends& ends,
                     const TcpPeer& peer, const SocketOptions& options, EthernetChannel& channel)
    : stack_(stack),
      options_(options),
      peer_(peer),
      port_(ends.local_port),
      channel_(&channel),
      arrives_(&channel),
      sends_(stack.parts_.frames, config.send_buffer),
      receives_(stack.buffers_),
      connection_(stack.parts_.scheduler, config, ends, *this),
      made_(stack.parts_.scheduler.now()),
      reader_{WaitQueue(stack.interrupt_config())},
      writer_{WaitQueue(stack.interrupt_config())} {}

void TcpSocket::tell(Time time, ProbeKind kind, Time begin, std::uint64_t b,
                     const TcpMark& mark) const {
  stack_.probe_(time, kind, begin, b, mark);
}

// ---- Waiting -----------------------------------------------------------------------------------

void TcpSocket::enter(CpuTask& task) { stack_.enter(task, options_.plane); }

template <class Ready>
void TcpSocket::wait(CpuTask& task, Waiting& waiting, Ready ready, Poll poll) {
  stack_.let_softirq_pass(task);
  EthernetChannel* polled = nullptr;
  while (!ready()) {
    if (!options_.busy_poll || poll == Poll::kNever) {
      waiting.asleep.sleep(task, options_.plane);
      tell(task.now(), ProbeKind::kSocketWoken, woken_, 0,
           &waiting == &reader_
               ? connection_.mark_of_received(connection_.consumed(), connection_.available())
               : connection_.mark_of_sent(connection_.written(), 0));
      stack_.let_softirq_pass(task);
      continue;
    }
    if (polled != arrives_) {  // frames come by another ring now
      if (polled != nullptr) polled->end_busy_polling();
      polled = arrives_;
      polled->begin_busy_polling();
    }
    waiting.polls = &task;
    polled->busy_poll(task, options_.plane, ready);
    waiting.polls = nullptr;
  }
  if (polled != nullptr) polled->end_busy_polling();
}

void TcpSocket::wake(Waiting& waiting) {
  // Who polls one ring may get its frames by another.
  if (waiting.polls != nullptr) waiting.polls->wake(stack_.parts_.scheduler.now());
  wake(waiting.asleep);
}

void TcpSocket::wake(WaitQueue& queue) {
  if (!queue.has_sleeper()) return;
  ++stack_.counts_.wakeups;
  stack_.in_context(*this, [&](KernelContext& context) {
    queue.wake([&](Cycles cycles) {
      return woken_ = context.charge(options_.plane, CpuCategory::kScheduling, cycles);
    });
  });
}

void TcpSocket::connect(CpuTask& task) {
  KernelContext context(task);
  stack_.run_in(context, [&] { connection_.connect(); });
  wait(task, writer_, [&] { return established_ || failure_; });
}

// ---- Sending -----------------------------------------------------------------------------------

Result<Bytes> TcpSocket::send(CpuTask& task, PageTable& pages, VirtualAddress from, Bytes bytes) {
  const Time begin = task.now();
  const std::uint64_t offset = connection_.written();
  const Result<Bytes> sent = send_in_call(task, pages, from, bytes);
  tell(task.now(), ProbeKind::kSocketSend, begin, sent.value.count(),
       connection_.mark_of_sent(offset, sent.value.count()));
  return sent;
}

Result<Bytes> TcpSocket::send_in_call(CpuTask& task, PageTable& pages, VirtualAddress from,
                                      Bytes bytes) {
  enter(task);
  if (pages.find(from, bytes) == nullptr) return Errno::kFault;
  if (is_over()) return Bytes(0);
  if (options_.zero_copy) {
    const std::uint64_t count = (from.value() % kPage + bytes.count() + kPage - 1) / kPage;
    task.run(options_.plane, CpuCategory::kPinning, stack_.config_.pin_page * count);
    sends_.pin(connection_.written(), bytes.count(), pages, from);
    stack_.counts_.pages_pinned += count;
    stack_.counts_.not_copied += bytes;
    return Bytes(write_all(task, bytes.count()));
  }
  if (!sends_.reserve()) return Errno::kNoMemory;
  const std::uint64_t sent = send_copied(task, pages, from, bytes.count());
  task.core().usage().add_copy(Bytes(sent), options_.plane);
  return Bytes(sent);
}

/// A burst at a time, so that the first leaves while the next is copied.
std::uint64_t TcpSocket::send_copied(CpuTask& task, PageTable& pages, VirtualAddress from,
                                     std::uint64_t bytes) {
  const SendStore::Use use(sends_);
  const std::uint64_t burst = stack_.burst_of(connection_.segment_size());
  std::uint64_t done = 0;
  while (done < bytes && !is_over()) {
    if (connection_.room() == 0) {
      wait(task, writer_, [&] { return connection_.room() != 0 || is_over(); });
      continue;
    }
    const std::uint64_t n = std::min({bytes - done, burst, connection_.room()});
    copy_in(task, pages, VirtualAddress(from.value() + done), n);
    if (!write_out(task, n)) break;
    done += n;
  }
  return done;
}

std::uint64_t TcpSocket::write_all(CpuTask& task, std::uint64_t bytes) {
  std::uint64_t done = 0;
  while (done < bytes) {
    wait(task, writer_, [&] { return connection_.room() != 0 || is_over(); });
    const std::uint64_t n = std::min(bytes - done, connection_.room());
    if (!write_out(task, n)) break;
    done += n;
  }
  return done;
}

/// False if the connection has ended meanwhile.
bool TcpSocket::write_out(CpuTask& task, std::uint64_t bytes) {
  stack_.let_softirq_pass(task);
  if (is_over()) return false;
  KernelContext context(task);
  stack_.run_in(context, [&] { connection_.write(bytes); });
  return true;
}

/// To where the stream goes on.
void TcpSocket::copy_in(CpuTask& task, PageTable& pages, VirtualAddress from, std::uint64_t bytes) {
  Memory& memory = stack_.parts_.memory;
  std::uint64_t position = connection_.written();
  while (bytes != 0) {
    const SendStore::Run to = sends_.place(position, std::min(bytes, stack_.copy_.stretch_bytes()));
    const Time begin = task.now();
    copy_stretch(task, to.bytes, [&](KernelCopy::Stretch& stretch) {
      stretch.read(pages, from, to.bytes);
      stretch.write(to.at, to.bytes);
    });
    tell(task.now(), ProbeKind::kCopiedIn, begin, to.bytes,
         connection_.mark_of_sent(position, to.bytes));
    if (!options_.elided) {
      stack_.scratch_.resize(to.bytes);
      pages.load(from, stack_.scratch_.data(), to.bytes);
      memory.poke(to.at, stack_.scratch_.data(), to.bytes);
    }
    position += to.bytes;
    from = VirtualAddress(from.value() + to.bytes);
    bytes -= to.bytes;
  }
}

/// The time of it; `meet` says what it reads and writes.
template <class Meet>
void TcpSocket::copy_stretch(CpuTask& task, std::uint64_t bytes, Meet meet) {
  stack_.let_softirq_pass(task);
  // DRAM is asked in the order of time.
  if (stack_.copy_.takes_bandwidth()) task.settle();
  KernelCopy::Stretch stretch(stack_.copy_, task.now());
  meet(stretch);
  task.run(options_.plane, CpuCategory::kCopying, stretch.cycles(task.core(), bytes));
}

void TcpSocket::await_pages(CpuTask& task) {
  enter(task);
  // The NIC's completions may be what it waits for, which no poll of the receive ring shows.
  wait(
      task, writer_, [&] { return !sends_.has_pinned(); }, Poll::kNever);
}

// ---- Receiving ---------------------------------------------------------------------------------

Result<Bytes> TcpSocket::receive(CpuTask& task, PageTable& pages, VirtualAddress to, Bytes bytes,
                                 Amount amount) {
  const Time begin = task.now();
  const std::uint64_t offset = connection_.consumed();
  const Result<Bytes> came = receive_in_call(task, pages, to, bytes, amount);
  tell(task.now(), ProbeKind::kSocketReceive, begin, came.value.count(),
       connection_.mark_of_received(offset, came.value.count()));
  return came;
}

Result<Bytes> TcpSocket::receive_in_call(CpuTask& task, PageTable& pages, VirtualAddress to,
                                         Bytes bytes, Amount amount) {
  enter(task);
  if (pages.find(to, bytes) == nullptr) return Errno::kFault;
  const auto over = [&] { return connection_.at_end() || failure_; };
  std::uint64_t done = 0;
  while (done < bytes.count()) {
    if (connection_.available() == 0) {
      if (over() || (done != 0 && amount == Amount::kSome)) break;
      wait(task, reader_, [&] { return connection_.available() != 0 || over(); });
      continue;
    }
    done += copy_out(task, pages, VirtualAddress(to.value() + done), bytes.count() - done);
  }
  if (done != 0) task.core().usage().add_copy(Bytes(done), options_.plane);
  return Bytes(done);
}

/// A stretch of what is there; returns its length.
std::uint64_t TcpSocket::copy_out(CpuTask& task, PageTable& pages, VirtualAddress to,
                                  std::uint64_t bytes) {
  const std::uint64_t position = connection_.consumed();
  const std::uint64_t n = std::min({bytes, connection_.available(), stack_.copy_.stretch_bytes()});
  std::uint64_t buffers = 0;
  receives_.for_each(position, n, [&](PhysicalAddress, std::uint64_t) { ++buffers; });
  if (&arrives_->core() != &task.core())
    task.charge(options_.plane, CpuCategory::kSocketBuffers, stack_.config_.cross_core * buffers);
  const Time begin = task.now();
  copy_stretch(task, n, [&](KernelCopy::Stretch& stretch) {
    receives_.for_each(
        position, n, [&](PhysicalAddress from, std::uint64_t piece) { stretch.read(from, piece); });
    stretch.write(pages, to, n);
  });
  tell(task.now(), ProbeKind::kCopiedOut, begin, n, connection_.mark_of_received(position, n));
  if (!options_.elided) {
    Memory& memory = stack_.parts_.memory;
    std::vector<std::uint8_t>& scratch = stack_.scratch_;
    scratch.resize(n);
    std::uint64_t at = 0;
    receives_.for_each(position, n, [&](PhysicalAddress from, std::uint64_t piece) {
      memory.load(from, scratch.data() + at, piece);
      at += piece;
    });
    pages.store(to, scratch.data(), n);
  }
  receives_.release_before(position + n);
  KernelContext context(task);
  stack_.run_in(context, [&] { connection_.consume(n); });
  return n;
}

void TcpSocket::close(CpuTask& task) {
  stack_.enter(task, CpuPlane::kControl);
  if (closed_) return;
  closed_ = true;
  KernelContext context(task);
  stack_.run_in(context, [&] { connection_.leave(); });
  stack_.unsteer(task, *this);
}

// ---- From the transmit ring --------------------------------------------------------------------

void TcpSocket::left(std::uint64_t position, std::uint32_t length, KernelContext& context) {
  if (length == 0) return;
  const unsigned done = sends_.frame_left(position, length);
  if (done == 0) return;
  stack_.run_in(context, [&] {
    notify(done);
    if (!sends_.has_pinned()) wake(writer_);
  });
}

/// Zero-copy sends are done: their program may read so.
void TcpSocket::notify(unsigned sends) {
  if (sends == 0) return;
  stack_.in_context(*this, [&](KernelContext& context) {
    context.charge(options_.plane, CpuCategory::kSocketBuffers,
                   stack_.config_.notification * sends);
  });
}

// ---- From the connection -----------------------------------------------------------------------

void TcpSocket::take(ReceivedSegment& segment, EthernetChannel& from) {
  arrives_ = &from;
  TcpSegment seen;
  seen.header = segment.tcp.header;
  seen.ecn = segment.tcp.ecn;
  seen.length = segment.tcp.length;
  seen.segment_size = segment.tcp.segment_size;
  seen.segments = segment.tcp.segments;
  taking_ = &segment;
  connection_.receive(seen);
  taking_ = nullptr;
}

void TcpSocket::transmit(const TcpSegment& segment) { stack_.transmit(*this, segment); }

void TcpSocket::place(const TcpSegment& /*segment*/, std::uint32_t skip, std::uint64_t offset,
                      std::uint32_t length) {
  receives_.place(taking_->buffers, skip, offset, length);
}

void TcpSocket::established() {
  established_ = true;
  if (listener_ != nullptr) {
    const Time now = stack_.parts_.scheduler.now();
    tell(now, ProbeKind::kConnected, made_, 0, connection_.mark_of_received(0, 0));
    listener_->arrived(*this);
  }
  wake(writer_);
}

void TcpSocket::readable() { wake(reader_); }

void TcpSocket::writable() {
  notify(sends_.acknowledge(connection_.acknowledged()));
  const bool has_room = connection_.room() >= stack_.tcp_.send_buffer.count() / 3;
  if (has_room || (options_.zero_copy && !sends_.has_pinned())) wake(writer_);
}

void TcpSocket::closed() {
  const Time now = stack_.parts_.scheduler.now();
  tell(now, ProbeKind::kConnectionClosed, now, 0, connection_.mark_of_sent(0, 0));
  sends_.release();
  wake(reader_);
}

void TcpSocket::failed(TcpFailure why) {
  failure_ = why;
  const Time now = stack_.parts_.scheduler.now();
  tell(now, ProbeKind::kConnectionFailed, now, static_cast<std::uint64_t>(why),
       connection_.mark_of_sent(0, 0));
  sends_.release();
  if (listener_ != nullptr && !established_) --listener_->pending_;
  wake(reader_);
  wake(writer_);
}

}  // namespace rnicsim
