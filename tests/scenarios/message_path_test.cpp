// SPDX-License-Identifier: MIT
#include "scenarios/engine/message_path.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

using namespace rnicsim;

namespace {

const WorkRequestId kRequest(0, Qpn(5), 0);
constexpr Time ns(std::int64_t n) { return Time::ns(n); }

/// "posting 10, turn 5": what there is of each stage, in nanoseconds.
std::string stages(const MessagePath& path) {
  std::string text;
  for (std::size_t i = 0; i < kStages; ++i)
    if (path.times().stages[i] != Time())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(static_cast<Stage>(i)),
                          path.times().stages[i].as_ns());
  return text;
}

/// A packet cut at `turn` whose payload was there at `read`.
PacketInMaking packet(MessagePath& path, std::uint64_t number, Time turn, Time read) {
  PacketInMaking& made = path.make(number);
  made.add(Stage::kTurn, turn, true);
  made.add(Stage::kDmaRead, read);
  return made;
}

Time total(const MessagePath& path) {
  Time sum;
  for (const Time time : path.times().stages) sum += time;
  return sum;
}

}  // namespace

TEST_CASE("what has been counted is not counted again, and what is left goes to one stage") {
  MessagePath path(kRequest, 64, ns(100), true);
  path.spend(Stage::kPosting, ns(130));
  path.spend(Stage::kDoorbell, ns(120));
  path.spend(Stage::kWqeFetch, ns(150));
  path.spend(Stage::kWqeFetch, ns(155));
  CHECK(stages(path) == "posting 30, wqe_fetch 25");
  REQUIRE(path.times().pieces.size() == 2);
  CHECK(path.times().pieces[1].begin == ns(130));
  CHECK(path.times().pieces[1].end == ns(155));
}

TEST_CASE("a miss of the context is taken out of what waits for it, and out of nothing else") {
  MessagePath path(kRequest, 64, ns(0), false);
  path.missed_context(ns(10), ns(30));
  path.missed_context(ns(50), ns(90));
  path.wait(Stage::kDoorbell, ns(40));
  path.spend(Stage::kWqeFetch, ns(60));
  path.wait(Stage::kTurn, ns(80));
  path.spend(Stage::kDmaRead, ns(100));
  CHECK(stages(path) == "doorbell 20, wqe_fetch 20, context_miss 40, dma_read 20");
}

TEST_CASE("of packets that follow each other only what the next one adds before the wire counts") {
  MessagePath path(kRequest, 8192, ns(0), false);
  const PacketInMaking first = packet(path, 1, ns(10), ns(50));
  const PacketInMaking second = packet(path, 2, ns(20), ns(130));
  path.depart(first, {ns(60), ns(60), ns(0), ns(100)});
  path.go_on(Stage::kPropagation, ns(110));  // of the first, while the second is read
  path.depart(second, {ns(135), ns(140), ns(0), ns(180)});
  path.go_on(Stage::kPropagation, ns(190));
  path.arrive(ns(1000));
  CHECK(stages(path) ==
        "turn 10, dma_read 70, tx_pipeline 15, port_queue 5, serialisation 80, propagation 10");
  CHECK(total(path) == ns(190));
}

TEST_CASE("what a packet waited while its port was stopped is pause, the rest its queue") {
  MessagePath path(kRequest, 4096, ns(0), false);
  const PacketInMaking only = packet(path, 1, ns(10), ns(50));
  path.depart(only, {ns(60), ns(100), ns(25), ns(140), ns(0), ns(4)});
  path.arrive(ns(1000));
  CHECK(stages(path) ==
        "turn 6, dma_read 40, tx_pipeline 10, port_queue 15, pause 29, serialisation 40");
}

TEST_CASE("the gap between packets on the wire belongs to the one before it") {
  MessagePath path(kRequest, 8192, ns(0), false);
  const PacketInMaking first = packet(path, 1, ns(0), ns(0));
  const PacketInMaking second = packet(path, 2, ns(0), ns(0));
  path.depart(first, {ns(0), ns(0), ns(0), ns(40), ns(2)});
  path.depart(second, {ns(0), ns(45), ns(0), ns(85), ns(2)});
  path.arrive(ns(1000));
  CHECK(stages(path) == "port_queue 3, serialisation 82");
}

TEST_CASE("who does not wait for an answer has what has been done at home, whole packets or not") {
  MessagePath path(kRequest, 8192, ns(0), false);
  packet(path, 1, ns(10), ns(50));
  path.stay_home(ns(30));
  CHECK(path.has_begun());
  CHECK(stages(path) == "turn 10, dma_read 20");
}

TEST_CASE("the answers of a READ come behind the way of its request") {
  MessagePath path(kRequest, 8192, ns(0), false);
  PacketInMaking& request = path.make(1);
  request.add(Stage::kTurn, ns(10));
  path.depart(PacketInMaking(request), {ns(12), ns(12), ns(0), ns(20)});
  path.go_on(Stage::kPropagation, ns(30));
  path.go_on(Stage::kKeyCheck, ns(40));
  for (const std::uint64_t number : {7, 8}) {
    PacketInMaking answer = packet(path, number, ns(50), ns(100));
    answer.answer = true;
    const Time begin = number == 7 ? ns(100) : ns(140);
    path.depart(answer, {ns(100), begin, ns(0), begin + ns(40)});
    path.go_on(Stage::kPropagation, begin + ns(60));
  }
  CHECK(path.is_answer());
  path.arrive(ns(1000));
  CHECK(stages(path) ==
        "turn 20, dma_read 50, tx_pipeline 2, serialisation 88, propagation 30, key_check 10");
  CHECK(total(path) == ns(200));
}

TEST_CASE("what comes after the completion has begun is no part of what it waited for") {
  MessagePath path(kRequest, 64, ns(0), false);
  path.depart(packet(path, 1, ns(10), ns(50)), {ns(50), ns(50), ns(0), ns(90)});
  path.go_on(Stage::kPropagation, ns(130));
  path.arrive(ns(100));
  CHECK(stages(path) == "turn 10, dma_read 40, serialisation 40, propagation 10");
}

TEST_CASE("steps of a packet beyond those that it has room for make the last one longer") {
  PacketInMaking packet;
  for (int i = 1; i <= 20; ++i)
    packet.add(i % 2 == 0 ? Stage::kOwnKey : Stage::kTranslationMiss, ns(i));
  CHECK(packet.steps == PacketInMaking::kMostSteps);
  CHECK(packet.step[PacketInMaking::kMostSteps - 1].until == ns(20));
}
