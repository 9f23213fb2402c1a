// SPDX-License-Identifier: MIT
#include "host/dma_guard.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "model/invariant.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr std::uint64_t k4KiB = 4096;
constexpr std::uint64_t k2MiB = 2 << 20;
constexpr std::uint64_t k1GiB = 1 << 30;
const AccessFlags kLocalWrite(AccessFlags::kLocalWrite);

using FrameList = std::vector<PhysicalAddress>;

FrameList frames_at(std::initializer_list<std::uint64_t> addresses) {
  FrameList frames;
  for (const std::uint64_t address : addresses) frames.emplace_back(address);
  return frames;
}

struct Guard : DmaGuard {
  Guard() : DmaGuard("host.B.nic0.pcie") {}
  void add(std::uint32_t region, AccessFlags access, const FrameList& frames, std::uint64_t offset,
           std::uint64_t length, unsigned log_size = 12) {
    DmaGuard::add(region, access, {frames.data(), frames.size(), log_size}, offset, length);
  }
  void remove(std::uint32_t region, const FrameList& frames, unsigned log_size = 12) {
    DmaGuard::remove(region, {frames.data(), frames.size(), log_size});
  }
  bool permits(bool write, std::uint64_t address, std::uint64_t bytes) const {
    try {
      check({write, PhysicalAddress(address), Bytes(bytes), DmaPurpose::kPayload, {}}, Time());
    } catch (const InvariantBroken&) {
      return false;
    }
    return true;
  }
  bool writes(std::uint64_t address, std::uint64_t bytes) const {
    return permits(true, address, bytes);
  }
  bool reads(std::uint64_t address, std::uint64_t bytes) const {
    return permits(false, address, bytes);
  }
};

}  // namespace

TEST_CASE("Nothing is permitted before a region is known and after it is gone") {
  Guard guard;
  const FrameList frames = frames_at({0x7000});
  CHECK_FALSE(guard.writes(0x7000, 1));
  CHECK_FALSE(guard.reads(0x7000, 1));
  guard.add(1, kLocalWrite, frames, 0, k4KiB);
  CHECK(guard.writes(0x7000, 4096));
  CHECK(guard.reads(0x7000, 4096));
  CHECK_FALSE(guard.writes(0x6000, 4096));
  CHECK_FALSE(guard.writes(0x8000, 1));
  guard.remove(1, frames);
  CHECK_FALSE(guard.writes(0x7000, 1));
  CHECK_FALSE(guard.reads(0x7000, 1));
}

TEST_CASE("A region is exact to the byte at both ends, in pages of every size") {
  for (const unsigned log_size : {12U, 21U, 30U}) {
    const std::uint64_t page = 1ULL << log_size;
    Guard guard;
    // Three scattered pages, of which the region begins in the first and ends in the last.
    guard.add(9, kLocalWrite, frames_at({5 * page, 2 * page, 8 * page}), 100, 2 * page, log_size);
    CHECK_FALSE(guard.writes(5 * page, 1));
    CHECK_FALSE(guard.writes(5 * page + 99, 2));
    CHECK(guard.writes(5 * page + 100, 1));
    CHECK(guard.writes(6 * page - 1, 1));
    CHECK_FALSE(guard.writes(6 * page - 1, 2));  // the next frame is not the region's
    CHECK(guard.writes(2 * page, 4096));
    CHECK(guard.writes(3 * page - 4096, 4096));
    CHECK_FALSE(guard.writes(2 * page - 1, 2));
    CHECK(guard.writes(8 * page, 100));
    CHECK(guard.writes(8 * page + 99, 1));
    CHECK_FALSE(guard.writes(8 * page + 99, 2));
    CHECK_FALSE(guard.writes(8 * page + 100, 1));
  }
}

TEST_CASE("A region within one page has both its ends there") {
  Guard guard;
  guard.add(1, kLocalWrite, frames_at({0x3000}), 16, 32);
  CHECK(guard.writes(0x3010, 32));
  CHECK_FALSE(guard.writes(0x300f, 2));
  CHECK_FALSE(guard.writes(0x302f, 2));
}

TEST_CASE("Writing takes a write right, local or remote; reading takes none") {
  struct Row {
    std::uint8_t access;
    bool writes;
  };
  for (const Row row :
       {Row{0, false}, Row{AccessFlags::kRemoteRead, false}, Row{AccessFlags::kWindowBind, false},
        Row{AccessFlags::kLocalWrite, true}, Row{AccessFlags::kRemoteWrite, true},
        Row{AccessFlags::kRemoteAtomic, true}}) {
    Guard guard;
    guard.add(1, AccessFlags(row.access), frames_at({0x1000}), 0, 64);
    CHECK(guard.writes(0x1000, 64) == row.writes);
    CHECK(guard.reads(0x1000, 64));
  }
}

TEST_CASE("Several regions over a page permit what any one of them does, while it is there") {
  Guard guard;
  const FrameList frames = frames_at({0x1000, 0x5000});
  guard.add(1, AccessFlags(), frames, 0, 2 * k4KiB);
  guard.add(2, kLocalWrite, frames_at({0x1000}), 0, 64);
  guard.add(3, kLocalWrite, frames_at({0x1000}), 64, 64);
  CHECK(guard.writes(0x1000, 64));
  CHECK(guard.writes(0x1040, 64));
  CHECK_FALSE(guard.writes(0x1000, 128));  // no request of a NIC lies in two regions
  CHECK(guard.reads(0x1000, 128));
  guard.remove(2, frames_at({0x1000}));
  CHECK_FALSE(guard.writes(0x1000, 64));
  CHECK(guard.writes(0x1040, 64));
  CHECK(guard.reads(0x5000, 4096));
  guard.remove(1, frames);
  CHECK_FALSE(guard.reads(0x5000, 1));
  CHECK(guard.writes(0x1040, 64));
  guard.remove(3, frames_at({0x1000}));
  CHECK_FALSE(guard.reads(0x1040, 64));
}

TEST_CASE("A request over a page boundary needs a region on each side") {
  Guard guard;
  guard.add(1, kLocalWrite, frames_at({0x4000}), 0, k4KiB);
  CHECK_FALSE(guard.writes(0x4fff, 2));
  CHECK_FALSE(guard.writes(0x3fff, 2));
  guard.add(2, kLocalWrite, frames_at({0x5000}), 0, 10);
  CHECK(guard.writes(0x4ff0, 26));
  CHECK_FALSE(guard.writes(0x4ff0, 27));
}

TEST_CASE("Regions of different page sizes stand side by side") {
  Guard guard;
  guard.add(1, kLocalWrite, frames_at({k1GiB}), 0, k1GiB, 30);
  guard.add(2, kLocalWrite, frames_at({4 * k2MiB}), 0, k2MiB, 21);
  guard.add(3, kLocalWrite, frames_at({0x2000}), 0, k4KiB);
  CHECK(guard.writes(k1GiB + 3 * k4KiB - 7, 4096));
  CHECK(guard.writes(4 * k2MiB + k4KiB - 7, 4096));
  CHECK(guard.writes(0x2000, 4096));
  guard.remove(1, frames_at({k1GiB}), 30);
  CHECK_FALSE(guard.writes(k1GiB, 1));
  CHECK(guard.writes(4 * k2MiB, 1));
}

TEST_CASE("An address beyond all memory is outside, not the page that its low bits name") {
  Guard guard;
  guard.add(1, kLocalWrite, frames_at({0x2000}), 0, k4KiB);
  CHECK_FALSE(guard.writes(0x2000 | 1ULL << 44, 1));
  CHECK_FALSE(guard.writes(0x2000 | 1ULL << 63, 1));
  CHECK_FALSE(guard.writes(~std::uint64_t{0}, 0x3000));  // wraps into the region
}

TEST_CASE("What is refused names place, time, address, bytes and work request") {
  Guard guard;
  guard.add(1, AccessFlags(AccessFlags::kRemoteRead), frames_at({0x2000}), 0, k4KiB);
  const auto refusal = [&](bool write, std::uint64_t address, WorkRequestId id) {
    try {
      guard.check({write, PhysicalAddress(address), Bytes(256), DmaPurpose::kPayload, id}, 3_us);
    } catch (const InvariantBroken& broken) {
      CHECK(broken.where() == "host.B.nic0.pcie");
      CHECK(broken.when() == 3_us);
      return broken.kind() + ": " + broken.what();
    }
    return std::string("permitted");
  };
  CHECK(refusal(true, 0xabc000, WorkRequestId(1, Qpn(5), 17)) ==
        "stray_write: host.B.nic0.pcie at 3000000 ps: 256 B of payload written to physical "
        "address 0xabc000, outside every region (work request #17 of qp 5 of NIC 1)");
  CHECK(refusal(true, 0x2000, {}) ==
        "stray_write: host.B.nic0.pcie at 3000000 ps: 256 B of payload written to physical "
        "address 0x2000, without a write right (no work request)");
  CHECK(refusal(false, 0x3000, {}) ==
        "stray_read: host.B.nic0.pcie at 3000000 ps: 256 B of payload read from physical address "
        "0x3000, outside every region (no work request)");
  CHECK(refusal(false, 0x2000, {}) == "permitted");
}

TEST_CASE(
    "Payload, atomics and frames target others' memory, what the NIC keeps for itself does not") {
  for (unsigned i = 0; i < kDmaPurposes; ++i) {
    const auto purpose = static_cast<DmaPurpose>(i);
    CHECK(DmaGuard::concerns(purpose) ==
          (purpose == DmaPurpose::kPayload || purpose == DmaPurpose::kAtomic ||
           purpose == DmaPurpose::kFrame));
  }
}

namespace {

std::string frame_refusal(const Guard& guard, bool write, std::uint64_t address,
                          std::uint64_t bytes) {
  try {
    guard.check({write, PhysicalAddress(address), Bytes(bytes), DmaPurpose::kFrame, {}}, Time());
  } catch (const InvariantBroken& broken) {
    return broken.kind();
  }
  return "permitted";
}

}  // namespace

TEST_CASE("Frames are written and read where memory is lent for them, and nowhere else") {
  Guard guard;
  guard.add(1, kLocalWrite, frames_at({0x9000}), 0, k4KiB);
  guard.lend(PhysicalAddress(0x3800), Bytes(2048), true);
  guard.lend(PhysicalAddress(0x5ff0), Bytes(4096), false);
  CHECK(frame_refusal(guard, true, 0x3800, 2048) == "permitted");
  CHECK(frame_refusal(guard, true, 0x3800, 2049) == "stray_write");
  CHECK(frame_refusal(guard, true, 0x37ff, 2) == "stray_write");
  CHECK(frame_refusal(guard, false, 0x3fff, 1) == "permitted");
  CHECK(frame_refusal(guard, false, 0x5ff0, 4096) == "permitted");
  CHECK(frame_refusal(guard, false, 0x5ff0, 4095) == "permitted");
  CHECK(frame_refusal(guard, true, 0x5ff0, 1) == "stray_write");
  CHECK(frame_refusal(guard, false, 0x6ff0, 1) == "stray_read");
  // Neither is for the other.
  CHECK(frame_refusal(guard, true, 0x9000, 1) == "stray_write");
  CHECK_FALSE(guard.writes(0x3800, 1));
  CHECK(guard.writes(0x9000, 1));
}

TEST_CASE("What is lent twice is the NIC's until it has come back twice") {
  Guard guard;
  const PhysicalAddress at(0x3000);
  guard.lend(at, Bytes(8192), false);
  guard.lend(at, Bytes(100), false);
  guard.lend(at, Bytes(8192), false);
  guard.take_back(at, Bytes(8192), false);
  CHECK(frame_refusal(guard, false, 0x4000, 4096) == "permitted");
  guard.take_back(at, Bytes(8192), false);
  CHECK(frame_refusal(guard, false, 0x4000, 1) == "stray_read");
  CHECK(frame_refusal(guard, false, 0x3000, 100) == "permitted");
  CHECK_THROWS_AS(guard.take_back(at, Bytes(100), true), InvariantBroken);
  guard.take_back(at, Bytes(100), false);
  CHECK(frame_refusal(guard, false, 0x3000, 1) == "stray_read");
  guard.lend(at, Bytes(64), true);
  CHECK(frame_refusal(guard, true, 0x3000, 64) == "permitted");
}

TEST_CASE("Before each change it says so, while the old regions still count") {
  Guard guard;
  struct Watcher {
    Guard& guard;
    std::vector<bool> permitted;
    void look() { permitted.push_back(guard.writes(0x1000, 1)); }
  } watcher{guard, {}};
  guard.before_change(call<&Watcher::look>(&watcher));
  const FrameList frames = frames_at({0x1000});
  guard.add(1, kLocalWrite, frames, 0, k4KiB);
  guard.remove(1, frames);
  guard.add(1, AccessFlags(), frames, 0, k4KiB);
  CHECK(watcher.permitted == std::vector<bool>{false, true, false});
}

TEST_CASE("A page takes at most 32 B, also of a million, and one region more over it 8 B") {
  Guard guard;
  FrameList frames;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) frames.emplace_back((i * 7919 % (1 << 24)) << 12);
  guard.add(1, kLocalWrite, frames, 0, frames.size() * k4KiB);
  CHECK(guard.bytes() <= 32 * frames.size());
  CHECK(guard.writes(frames[777'777].value(), 4096));
  guard.remove(1, frames);
  const std::uint64_t before = guard.bytes();
  guard.add(2, kLocalWrite, frames, 0, frames.size() * k4KiB);
  CHECK(guard.bytes() == before);  // what was given back is used again
}

TEST_CASE("Any sequence of regions that come and go gives what a plain search over them gives") {
  struct Known {
    FrameList frames;
    std::uint64_t first;
    std::uint64_t last;
    bool writable;
  };
  std::mt19937 random(5);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::map<std::uint32_t, Known> known;
  Guard guard;
  for (int step = 0; step < 4000; ++step) {
    const auto number = static_cast<std::uint32_t>(1 + below(24));
    const auto at = known.find(number);
    if (at != known.end()) {
      guard.remove(number, at->second.frames);
      known.erase(at);
    } else {
      Known region;
      std::set<std::uint64_t> pages;
      while (pages.size() < 1 + number % 5) pages.insert(below(40));
      for (const std::uint64_t page : pages) region.frames.emplace_back(page << 12);
      const std::uint64_t offset = below(4096);
      const std::uint64_t tail = below(4096);
      region.writable = below(2) == 0;
      region.first = region.frames.front().value() + offset;
      region.last = region.frames.back().value() + tail;
      if (pages.size() == 1 && region.last < region.first) continue;
      guard.add(number, region.writable ? kLocalWrite : AccessFlags(), region.frames, offset,
                (pages.size() - 1) * k4KiB + tail + 1 - offset);
      known.emplace(number, region);
    }
    const std::uint64_t begin = below(40 * k4KiB);
    const std::uint64_t bytes = 1 + below(k4KiB - begin % k4KiB);
    const auto expected = [&](bool write) {
      for (const auto& [unused, region] : known)
        for (const PhysicalAddress frame : region.frames)
          if (frame.value() >> 12 == begin >> 12 && (region.writable || !write) &&
              (region.first >> 12 != begin >> 12 || begin >= region.first) &&
              (region.last >> 12 != begin >> 12 || begin + bytes - 1 <= region.last))
            return true;
      return false;
    };
    REQUIRE(guard.writes(begin, bytes) == expected(true));
    REQUIRE(guard.reads(begin, bytes) == expected(false));
  }
}
