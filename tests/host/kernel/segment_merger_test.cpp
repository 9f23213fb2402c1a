// SPDX-License-Identifier: MIT
#include "host/kernel/segment_merger.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace rnicsim;

namespace {

ReceivedSegment segment(std::uint16_t port, std::uint32_t sequence, std::uint32_t length,
                        bool push = false) {
  ReceivedSegment made;
  made.source = abi::Ipv4Address(1);
  made.tcp.header.source_port = port;
  made.tcp.header.sequence = TcpSeq(sequence);
  made.tcp.header.ack = true;
  made.tcp.header.psh = push;
  made.tcp.length = length;
  made.tcp.segment_size = length;
  return made;
}

struct Seen {
  std::uint16_t port;
  std::uint32_t sequence;
  std::uint32_t length;
  std::uint32_t segments;
  bool operator==(const Seen& o) const {
    return port == o.port && sequence == o.sequence && length == o.length && segments == o.segments;
  }
};

std::vector<Seen> take_all(Ring<ReceivedSegment>& ring) {
  std::vector<Seen> all;
  while (!ring.empty()) {
    const ReceivedSegment s = ring.take();
    all.push_back(
        {s.tcp.header.source_port, s.tcp.header.sequence.value(), s.tcp.length, s.tcp.segments});
  }
  return all;
}

struct Merging {
  SegmentMerger merger;
  Ring<ReceivedSegment> out;
  void add(ReceivedSegment s) { merger.add(s, out); }
};

}  // namespace

TEST_CASE("Segments that follow each other are one, up to the end of the round or a PSH") {
  Merging m;
  m.add(segment(1, 0, 1000));
  m.add(segment(1, 1000, 1000));
  m.add(segment(2, 500, 700));
  CHECK(take_all(m.out).empty());
  m.add(segment(1, 2000, 300, true));
  CHECK(take_all(m.out) == std::vector<Seen>{{1, 0, 2300, 3}});
  m.merger.flush(m.out);
  CHECK(take_all(m.out) == std::vector<Seen>{{2, 500, 700, 1}});
  CHECK(m.merger.empty());
}

TEST_CASE("What cannot be merged lets its flow's segment go first") {
  Merging m;
  m.add(segment(1, 0, 1000));
  SECTION("a gap, which begins anew") {
    m.add(segment(1, 2000, 1000));
    CHECK(take_all(m.out) == std::vector<Seen>{{1, 0, 1000, 1}});
    m.add(segment(1, 3000, 1000));
    m.merger.flush(m.out);
    CHECK(take_all(m.out) == std::vector<Seen>{{1, 2000, 2000, 2}});
  }
  SECTION("an acknowledgement alone") {
    m.add(segment(1, 1000, 0));
    CHECK(take_all(m.out) == std::vector<Seen>{{1, 0, 1000, 1}, {1, 1000, 0, 1}});
  }
  SECTION("what the NIC has merged") {
    ReceivedSegment merged = segment(1, 1000, 2000);
    merged.tcp.segments = 2;
    merged.tcp.segment_size = 1000;
    m.add(merged);
    CHECK(take_all(m.out) == std::vector<Seen>{{1, 0, 1000, 1}, {1, 1000, 2000, 2}});
  }
}

TEST_CASE("A merged segment stays within an IPv4 packet, and the ninth flow displaces the first") {
  Merging m;
  for (std::uint32_t i = 0; i < 66; ++i) m.add(segment(1, i * 1000, 1000));
  CHECK(take_all(m.out) == std::vector<Seen>{{1, 0, 65000, 65}});
  for (std::uint16_t port = 2; port <= 9; ++port) m.add(segment(port, 0, 1000));
  CHECK(take_all(m.out) == std::vector<Seen>{{1, 65000, 1000, 1}});
}
