// SPDX-License-Identifier: MIT
// Sentences of records and verdicts in Japanese, which are made of their fields.
#include <catch2/catch.hpp>

#include "tools/export/bottleneck_text.h"
#include "tools/export/labels.h"
#include "tools/export/record_text.h"

using namespace rnicsim;

namespace {

constexpr Language kJapanese = Language::kJapanese;

TimelineRecord record_of(int step, const char* part, RecordDetail detail = {}) {
  TimelineRecord record;
  record.step = step;
  record.part = part;
  record.text = "what the simulator wrote; 2 of it";
  record.detail = std::move(detail);
  return record;
}

Bottleneck verdict_of(const char* kind, const char* resource) {
  Bottleneck verdict;
  verdict.kind = kind;
  verdict.resource = resource;
  verdict.text = "what the simulator wrote";
  return verdict;
}

}  // namespace

TEST_CASE("English is what the simulator wrote") {
  CHECK(record_text(record_of(4, "doorbell"), Language::kEnglish) ==
        "what the simulator wrote; 2 of it");
  CHECK(bottleneck_text(verdict_of("none", ""), Language::kEnglish) == "what the simulator wrote");
  CHECK(description_in("payload sent again", Language::kEnglish) == "payload sent again");
}

TEST_CASE("a record that stands for many says how many and when, in Japanese") {
  TimelineRecord record = record_of(7, "translation");
  CHECK(record_text(record, kJapanese) == "仮想アドレスから物理アドレスへの変換");
  record.count = 12;
  record.detail.misses = 3;
  record.first_end = Time::ns(1500);
  record.last_begin = Time::us(2);
  CHECK(record_text(record, kJapanese) ==
        "仮想アドレスから物理アドレスへの変換、うち 3 件はテーブルを待った。"
        "全 12 件：最初は 1.500 µs まで、最後は 2.000 µs から");
}

TEST_CASE("what packets carry depends on the operation, in Japanese too") {
  const auto text = [](const char* operation) {
    return record_text(record_of(6, "packets", {RecordDetail::Kind::kNone, operation}), kJapanese);
  };
  CHECK(text("write") == "パケット［アドレス + rkey | データ］");
  CHECK(text("send_imm") == "パケット［データ | 即値］");
  CHECK(text("read") == "要求［アドレス + rkey + 長さ］");
}

TEST_CASE("faults are Japanese, names of packets and states as standards have them") {
  using Kind = RecordDetail::Kind;
  const auto text = [](RecordDetail detail) {
    return record_text(record_of(0, "fault", std::move(detail)), kJapanese);
  };
  CHECK(text({Kind::kPacketLost, "ACKNOWLEDGE, PSN 5"}) == "ACKNOWLEDGE, PSN 5：失われる");
  CHECK(text({Kind::kAccessRefused, "", "no access right"}) == "アクセス拒否：アクセス権なし");
  CHECK(text({Kind::kQueuePairFailed, "ERR", "transport retry counter exceeded", 9}) ==
        "キューペア 9 が ERR へ移る：トランスポートの再試行回数超過");
  CHECK(text({Kind::kMoreFaults, "", "", 42}) == "ほかに 42 件の障害（表示なし）");
  CHECK(part_label(record_of(0, "fault", {Kind::kPagesBrought, "", "", 2}), kJapanese) ==
        "2 ページを読み込む");
}

TEST_CASE("a record that nobody has translated stays English") {
  CHECK(record_text(record_of(4, "something new"), kJapanese) ==
        "what the simulator wrote; 2 of it");
  CHECK(description_in("something new", kJapanese) == "something new");
}

TEST_CASE("a resource that was used up has its share and the next one's, in Japanese") {
  Bottleneck verdict = verdict_of("busy", "host.A.nic0.port.tx.busy");
  verdict.part = 0.987;
  verdict.span = Time::us(287);
  CHECK(bottleneck_text(verdict, kJapanese) ==
        "A から出るワイヤ：使用中（287 us の 98.7 %、host.A.nic0.port.tx.busy）");
  verdict.over_sizes = true;
  verdict.next = "host.B.nic1.pcie.upstream.busy";
  verdict.next_part = 0.5;
  CHECK(bottleneck_text(verdict, kJapanese) ==
        "A から出るワイヤ：使用中（287 us の 98.7 %、全サイズの合計、host.A.nic0.port.tx.busy）。"
        "次点：B.nic1 の NIC からメモリへの PCIe、50.0 %");
}

TEST_CASE("what nothing limited says what was used most, in Japanese") {
  Bottleneck verdict = verdict_of("latency", "workload.w0.latency.mean");
  verdict.limit = 1;
  verdict.each = Time::ns(1500);
  CHECK(bottleneck_text(verdict, kJapanese) ==
        "レイテンシ：メッセージは一度に一つ、各 1.5 us。使用中の資源はなかった");
  verdict = verdict_of("max_rd_atomic", "requester.read_limited");
  verdict.limit = 16;
  verdict.count = 2344;
  verdict.next = "host.B.gpu0.copying";
  verdict.next_part = 0.242;
  CHECK(bottleneck_text(verdict, kJapanese) ==
        "max_rd_atomic：同時に処理できる READ・アトミックはキューペアごとに 16 個までで、"
        "送信ターンが 2344 回その終わりを待った。"
        "最も使われた資源でも 24.2 %（B の gpu0 のコピーエンジン）");
}
