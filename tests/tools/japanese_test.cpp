// SPDX-License-Identifier: MIT
// Sentences of records and verdicts in Japanese, which are made of their fields.
#include <catch2/catch.hpp>

#include "tools/export/bottleneck_text.h"
#include "tools/export/finding_text.h"
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

TEST_CASE("notes and violated guarantees keep their names and numbers in Japanese") {
  const auto text = [](const char* english) { return finding_text(english, kJapanese); };
  CHECK(
      text("leaf0-spine1 down from 200 us to 600 us: 31 packets lost on it, 1 dropped in front of "
           "it") ==
      "leaf0-spine1 は 200 us から 600 us まで断線：その上で 31 パケットを喪失、手前で 1 "
      "パケットを廃棄");
  CHECK(text("h5-leaf1 down from 200 us on: 15 packets lost on it, 0 dropped in front of it") ==
        "h5-leaf1 は 200 us 以降断線：その上で 15 パケットを喪失、手前で 0 パケットを廃棄");
  CHECK(text("host.B: the PCIe link of its NICs runs at Gen3 x8, below its Gen3 x16") ==
        "host.B：NIC の PCIe リンクは本来の Gen3 x16 を下回る Gen3 x8 で動作");
  CHECK(text("a packet of lossless priority 3 finds no room: the headroom is 41630 B, 45738 B are "
             "needed by now") ==
        "ロスレス優先度 3 のパケットを置く空きがない：ヘッドルームは 41630 B、必要なのは 45738 B");
}

TEST_CASE("a sentence made of several is Japanese throughout") {
  const auto text = [](const char* english) { return finding_text(english, kJapanese); };
  CHECK(text("a.port1 (priority 3) waits for b.port2 (priority 3) waits for a.port1") ==
        "a.port1（優先度 3）が次を待つ：b.port2（優先度 3）が次を待つ：a.port1");
  CHECK(
      text("stopped before the end: workload ac on host A: posting and polling, 0 of 200 messages "
           "completed; workload ac on host C: asleep until the initiator has finished") ==
      "終わる前に停止：ホスト A のワークロード ac：ポストとポーリング中、200 件中 0 件の"
      "メッセージが完了；ホスト C のワークロード ac：イニシエータの終了までスリープ中");
  CHECK(
      text("workload w0 on host A: the connection timed out while sending, 1 of 9 messages done") ==
      "ホスト A のワークロード w0：送信中に接続が失敗（タイムアウト）、9 件中 1 件の"
      "メッセージが完了");
}

TEST_CASE("a finding that nobody has translated stays English") {
  CHECK(finding_text("something new", kJapanese) == "something new");
  CHECK(finding_text("7 requests came out of sequence", Language::kEnglish) ==
        "7 requests came out of sequence");
  CHECK(finding_text("7 requests came out of sequence, and more", kJapanese) ==
        "7 requests came out of sequence, and more");
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
