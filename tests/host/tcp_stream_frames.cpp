// SPDX-License-Identifier: MIT
// Writes what a capture beside host A would hold of three TCP connections to B, for
// tcp_stream_judge.py: one that nothing happens to, one with losses of both kinds, one whose reader
// sleeps for a while.
//
// Usage: tcp_stream_frames FILE
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "model/icrc.h"
#include "tests/support/frame_file.h"
#include "tests/support/tcp_bench.h"

namespace rnicsim::test {
namespace {

using namespace literals;

class Capture {
 public:
  explicit Capture(Scheduler& scheduler) : scheduler_(scheduler) {}

  /// What A sends is seen when it leaves, what B sends when it arrives.
  void watch(TcpBench& bench, Time delay) {
    bench.logs = false;
    bench.tap = [this, delay](const TcpEnd& from, const TcpSegment& segment, const auto& data) {
      seen_.push_back(
          {scheduler_.now() + (from.name == 'B' ? delay : Time()), make(from, segment, data)});
    };
  }
  bool write(const std::string& path) {
    std::stable_sort(seen_.begin(), seen_.end(),
                     [](const Seen& a, const Seen& b) { return a.time < b.time; });
    FrameFile file(path);
    for (const Seen& seen : seen_) file.add(*seen.packet, seen.time);
    return file.close();
  }

 private:
  struct Seen {
    Time time;
    PacketRef packet;
  };

  PacketRef make(const TcpEnd& from, const TcpSegment& segment,
                 const std::vector<std::uint8_t>& data) {
    const std::uint8_t own = from.name == 'A' ? 1 : 2;
    const auto other = static_cast<std::uint8_t>(3 - own);
    PacketRef packet = pool_.create();
    packet->eth.source = {2, 0, 0, 0, 0, own};
    packet->eth.destination = {2, 0, 0, 0, 0, other};
    packet->ipv4.source = Ipv4Address(0x0a000000U + own);
    packet->ipv4.destination = Ipv4Address(0x0a000000U + other);
    packet->ipv4.ecn = segment.ecn;
    packet->become_tcp(segment.header, Bytes(segment.length), false);
    if (segment.length != 0) std::copy(data.begin(), data.end(), packet->payload());
    seal_icrc(*packet);
    return packet;
  }

  Scheduler& scheduler_;
  PacketPool pool_;
  std::vector<Seen> seen_;
};

TcpBenchConfig from_port(std::uint16_t port) {
  TcpBenchConfig config;
  config.a_ends.local_port = config.b_ends.remote_port = port;
  config.a_ends.initial = TcpSeq(0xffff0000);  // wraps on the way
  return config;
}

void finish(TcpBench& bench) {
  bench.a.close_behind_all();
  bench.b.close_behind_all();
  bench.run();
}

void undisturbed(TcpBench& bench) {
  bench.establish();
  bench.a.write(200'000);
  bench.b.write(50'000);
  bench.run();
  finish(bench);
}

/// A hole within a flight, and the end of the last flight.
void lossy(TcpBench& bench) {
  bench.establish();
  bench.policy = [](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    const std::uint64_t number = segment.offset / 1448;
    fate.lost = from.name == 'A' && segment.length != 0 && !segment.again &&
                (number == 20 || number == 22 || number == 99);
    return fate;
  };
  bench.a.write(100 * 1448);
  bench.run();
  finish(bench);
}

void sleeping_reader(TcpBench& bench) {
  bench.b.reads = false;
  bench.establish();
  bench.a.write(60'000);
  bench.run(1_ms * 1500);
  bench.b.reads = true;
  bench.b.readable();
  bench.run();
  finish(bench);
}

bool write_streams(const std::string& path) {
  Scheduler scheduler("scheduler");
  Capture capture(scheduler);
  std::deque<TcpBench> benches;
  const auto next = [&](const TcpBenchConfig& config) -> TcpBench& {
    TcpBench& bench = benches.emplace_back(scheduler, config);
    capture.watch(bench, config.delay);
    return bench;
  };
  undisturbed(next(from_port(40000)));
  lossy(next(from_port(40001)));
  TcpBenchConfig small = from_port(40002);
  small.b.receive_buffer = Bytes(20'000);
  sleeping_reader(next(small));
  return capture.write(path);
}

}  // namespace
}  // namespace rnicsim::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tcp_stream_frames FILE\n");
    return 2;
  }
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  if (!rnicsim::test::write_streams(argv[1])) {
    std::fprintf(stderr, "tcp_stream_frames: cannot write %s\n", argv[1]);
    return 1;
  }
  return 0;
}
