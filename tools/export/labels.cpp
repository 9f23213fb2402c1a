// SPDX-License-Identifier: MIT
#include "tools/export/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/export/record_text.h"

namespace rnicsim {
namespace {

struct Named {
  const char* name;
  Words words;
};

struct Step {
  Words verbs;
  Words tcp;
};

struct Part {
  int step;
  const char* part;
  Words words;
};

/// In the order of Label.
constexpr Words kLabels[] = {
    {"CONTROL PLANE", "コントロールプレーン"},
    {"once, before any message: kernel and CPUs at work", "最初に一度だけ：カーネルと CPU が働く"},
    {"DATA PLANE", "データプレーン"},
    {"per message: no kernel, NICs at work", "メッセージごと：カーネルを通らず NIC が働く"},
    {"per message: both kernels and NICs at work", "メッセージごと：両方のカーネルと NIC が働く"},
    {"per message: NICs at work, the kernel only wakes the program",
     "メッセージごと：NIC が働き、カーネルは起こすだけ"},
    {"message {} of {}", "メッセージ {} / {}"},
    {"begins at {}, takes {}", "開始 {}、所要 {}"},
    {"asleep: no work of this CPU in the data plane",
     "スリープ中：この CPU はデータプレーンで何もしない"},
    {"wire", "ワイヤ"},
    {"No message of this run was followed step by step.",
     "この実行では、ステップごとに追跡したメッセージがありません。"},
    {"faults at other times: {}", "この時間帯の外の障害：{} 件"},
    {"further messages: {}", "ほかのメッセージ：{} 件"},
    {"on its way to: {}", "次への移動：{}"},
    {"the other packets follow", "残りのパケットが続く"},
    {"the whole message", "メッセージ全体"},
    {"at least {}", "{} 以上"},
    {"at most {}", "{} 以下"},
    {"{} to {}", "{} ～ {}"},
    {"expectation failed: {}: expected {}, found {}", "期待値に不合格：{}：期待 {}、測定 {}"},
    {"expectation no longer missed: {}: expected {}, found {}",
     "外れるはずの期待値に合格：{}：期待 {}、測定 {}"},
    {"{} at {}, {}: {}", "{}：{}、{}：{}"},
    {"scenario or default", "シナリオまたは既定値"},
};

constexpr Named kLanes[] = {
    {"app", {"app", "アプリ"}},
    {"cpu", {"CPU", "CPU"}},
    {"nic", {"NIC", "NIC"}},
};

constexpr Step kSteps[] = {
    {{"Applications start", "アプリ起動"}, {"Applications start", "アプリ起動"}},
    {{"Register memory", "メモリ登録"}, {"Register memory", "メモリ登録"}},
    {{"Hand the address over", "アドレスと rkey の通知"}, {"Connect", "接続"}},
    {{"Descriptor, doorbell", "WQE とドアベル"},
     {"Copy, segments, doorbell", "コピー・セグメント・ドアベル"}},
    {{"Payload DMA", "ペイロード DMA"}, {"DMA from the kernel", "カーネルから DMA"}},
    {{"Packets", "パケット"}, {"Segments", "セグメント"}},
    {{"Key check, translation", "鍵検査とアドレス変換"},
     {"DMA to the kernel, interrupt", "カーネルへ DMA・割り込み"}},
    {{"DMA into memory", "メモリへ DMA"}, {"Kernel, wake-up", "カーネル処理・起床"}},
    {{"Completion", "完了"}, {"Copy to the program", "プログラムへコピー"}},
};

constexpr Part kParts[] = {
    {1, "start", {"application starts", "アプリ起動"}},
    {2, "pin", {"pins every page", "全ページをピン留め"}},
    {2, "table", {"builds the address table", "変換テーブルを作成"}},
    {2, "key", {"issues lkey and rkey", "lkey と rkey を発行"}},
    {3, "connect", {"TCP connects: SYN, SYN+ACK, ACK", "TCP 接続：SYN, SYN+ACK, ACK"}},
    {3, "send", {"sends: system call, copy, segment", "送信：システムコール、コピー"}},
    {3, "hand over", {"hands over address, length, rkey", "アドレス・長さ・rkey を渡す"}},
    {3, "segments", {"TCP segment", "TCP セグメント"}},
    {3, "softirq", {"interrupt, softirq", "割り込みと softirq"}},
    {3, "receive", {"program wakes, CPU copies", "プログラムが起床、CPU がコピー"}},
    {4, "descriptor", {"writes the descriptor (WQE)", "ディスクリプタ（WQE）を書く"}},
    {4, "doorbell", {"rings the doorbell: one MMIO write", "ドアベル：MMIO 書き込み一回"}},
    {4, "fetch", {"reads the descriptor by DMA", "ディスクリプタを DMA で読む"}},
    {4, "system call", {"system call", "システムコール"}},
    {4, "copy", {"CPU copies into the kernel", "CPU がカーネルへコピー"}},
    {4, "segments", {"TCP: headers, descriptors", "TCP：ヘッダとディスクリプタ"}},
    {5, "lkey and address", {"checks lkey, translates address", "lkey 検査とアドレス変換"}},
    {5, "payload read", {"reads payload from RAM by DMA", "ペイロードを RAM から DMA で読む"}},
    {5, "DMA read", {"reads segments from RAM by DMA", "セグメントを RAM から DMA で読む"}},
    {6, "packets", {"request packets", "要求パケット"}},
    {6, "answers", {"response packets", "応答パケット"}},
    {6, "segments", {"TCP segments", "TCP セグメント"}},
    {7, "rkey check", {"checks rkey: valid, bounds, rights", "rkey 検査：有効性・範囲・権限"}},
    {7, "translation", {"virtual to physical address", "仮想から物理アドレスへ変換"}},
    {7, "key operation", {"binds or invalidates a key", "鍵の割り当て・無効化"}},
    {7, "DMA write", {"writes into the kernel's memory", "カーネルのメモリへ DMA 書き込み"}},
    {7, "interrupt sent", {"interrupt (MSI-X)", "割り込み（MSI-X）"}},
    {7, "interrupt", {"core takes the interrupt", "コアが割り込みを受ける"}},
    {8, "DMA write", {"writes into the application's memory", "アプリのメモリへ DMA 書き込み"}},
    {8, "softirq", {"softirq polls the ring", "softirq がリングを見る"}},
    {8, "socket buffer", {"TCP, into the socket", "TCP 処理、ソケットへ"}},
    {8, "woken", {"program wakes", "プログラムが起床"}},
    {9, "ACK", {"acknowledgement", "確認応答（ACK）"}},
    {9, "CQE", {"writes the completion entry (CQE)", "完了エントリ（CQE）を書く"}},
    {9, "receive CQE", {"completion entry of the receive", "受信の完了エントリ"}},
    {9, "polled", {"the polling CPU finds it", "ポーリング中の CPU が見つける"}},
    {9, "event", {"event entry", "イベントエントリ"}},
    {9, "receive event", {"event entry of the receive", "受信のイベントエントリ"}},
    {9, "interrupt sent", {"interrupt (MSI-X)", "割り込み（MSI-X）"}},
    {9, "receive interrupt sent", {"interrupt (MSI-X)", "割り込み（MSI-X）"}},
    {9, "interrupt", {"core takes the interrupt", "コアが割り込みを受ける"}},
    {9, "receive interrupt", {"core takes the interrupt", "コアが割り込みを受ける"}},
    {9, "woken", {"program wakes", "プログラムが起床"}},
    {9, "receive woken", {"receiver wakes", "受信側が起床"}},
    {9, "copy", {"CPU copies to the program", "CPU がプログラムへコピー"}},
    {9, "return", {"receive returns", "receive が戻る"}},
};

constexpr Named kViolations[] = {
    {"lossless_drop", {"", "ロスレス優先度のパケット廃棄"}},
    {"deadlock", {"", "デッドロック"}},
    {"pause_storm", {"", "ポーズストーム"}},
    {"unfinished_flow", {"", "終わらなかった通信"}},
    {"conservation", {"", "収支の不一致"}},
    {"data_mismatch", {"", "データの不一致"}},
    {"psn_sequence", {"", "PSN の順序"}},
    {"completion", {"", "完了の誤り"}},
    {"not_routable", {"", "ルーティング不能"}},
    {"pfc_missing", {"", "PFC の設定漏れ"}},
    {"dma_error", {"", "DMA の誤り"}},
    {"fault", {"", "シミュレーションの停止"}},
};

/// In the order of Stage.
constexpr Words kStageWords[] = {
    {"posting", "ポスト（WQE 作成）"},
    {"doorbell", "ドアベル"},
    {"WQE fetch", "WQE フェッチ"},
    {"context miss", "コンテキストミス"},
    {"waits for its turn", "NIC での順番待ち"},
    {"until sent again", "再送まで"},
    {"lkey check, translation", "lkey 検査・アドレス変換"},
    {"translation miss", "アドレス変換ミス"},
    {"DMA read", "DMA 読み出し"},
    {"NIC sends", "NIC 送信処理"},
    {"queue of the NIC's port", "NIC ポートの待ち行列"},
    {"pause", "ポーズ（PFC・クレジット待ち）"},
    {"serialisation", "シリアライズ（回線へ送出）"},
    {"cables", "ケーブル伝搬"},
    {"switch", "スイッチ処理"},
    {"switch queue", "スイッチの待ち行列"},
    {"receive queue of the NIC", "NIC 受信バッファでの待ち"},
    {"NIC receives", "NIC 受信処理"},
    {"key check, translation", "鍵検査・アドレス変換"},
    {"DMA write", "DMA 書き込み"},
    {"ACK", "ACK（確認応答）"},
    {"CQE", "CQE 書き込み"},
    {"until the program has it", "プログラムが受け取るまで"},
};
static_assert(std::size(kStageWords) == kStages);

constexpr Named kPageWords[] = {
    {"dark", {"Dark", "ダーク"}},
    {"light", {"Light", "ライト"}},
    {"steps", {"The eight steps", "八つのステップ"}},
    {"steps_help",
     {"+ and − (or the wheel with Ctrl) zoom in time, dragging moves; a bar tells its details. "
      "Each "
      "phase has a time axis of its own.",
      "+ / −（または Ctrl とホイール）で時間方向に拡大、ドラッグで移動。バーに触れると詳細を表示。"
      "時間軸はフェーズごとに独立。"}},
    {"whole", {"Whole", "全体"}},
    {"time", {"Where did the time go?", "時間はどこへ消えたか"}},
    {"time_help",
     {"A message's time, every picosecond of which went to one stage. What happens at the same "
      "time counts once, on the way of what the message waited for last. Dragging over the chart "
      "zooms, a double click shows all of it.",
      "メッセージの時間。どの一ピコ秒も必ず一つの段階に属する。同時に起こることは、"
      "最後まで待たされた経路の上で一度だけ数える。"
      "図の上をドラッグで拡大、ダブルクリックで全体。"}},
    {"many", {"Over many messages", "多数のメッセージでの分布"}},
    {"many_help",
     {"A bar is the message at that rank of the whole time, with its own stages. In the table each "
      "stage is by itself, over all messages, those that did not have it included.",
      "棒は、全体の時間がその順位にあるメッセージ一つとその段階。"
      "表は段階ごとで、その段階のなかったメッセージも含む全メッセージについての値。"}},
    {"whole_message", {"the whole message", "メッセージ全体"}},
    {"followed", {"messages followed", "追跡したメッセージ"}},
    {"left_out", {"left out (beyond the limit, or failed)", "対象外（上限超過または失敗）"}},
    {"workload", {"workload", "ワークロード"}},
    {"mean", {"mean", "平均"}},
    {"others", {"other messages", "その他のメッセージ"}},
    {"message", {"message", "メッセージ"}},
    {"stage", {"stage", "段階"}},
    {"messages", {"messages", "メッセージ数"}},
    {"share", {"share", "割合"}},
    {"over_time", {"Over time", "時間変化"}},
    {"over_time_help",
     {"Of each group the signals that rose highest, of what congestion control allows those that "
      "fell lowest; the search finds the others. A transfer over PCIe counts at once, so "
      "short intervals may show more than the link's rate. Dragging over a chart zooms in time, "
      "a double click shows all of it again.",
      "各グループで最も大きくなった信号（輻輳制御の上限は最も下がったもの）を表示。ほかの信号は検索"
      "で選択。PCIe の転送は一度に数えるため、短い区間では回線速度を超えて見えることがある。"
      "グラフ上のドラッグで時間方向に拡大、ダブルクリックで全体に戻る。"}},
    {"over_time_throughput", {"Throughput of ports", "ポートのスループット"}},
    {"over_time_congestion",
     {"Lowest rates that congestion control allows", "輻輳制御が許す最低レート"}},
    {"over_time_windows",
     {"Smallest windows that congestion control allows", "輻輳制御が許す最小ウィンドウ"}},
    {"over_time_buses", {"PCIe and memory bus", "PCIe とメモリバス"}},
    {"over_time_utilisation", {"Utilisation, share of pauses", "使用率とポーズの割合"}},
    {"over_time_bytes", {"Buffers and queues", "バッファとキュー"}},
    {"over_time_entries", {"Queues, requests under way", "キューと処理中の要求"}},
    {"over_time_rates", {"Rates", "頻度"}},
    {"over_time_pauses", {"Pauses", "ポーズの区間"}},
    {"over_time_merged",
     {"{count} pauses between {begin} and {end}", "{begin} ～ {end} の間に {count} 回のポーズ"}},
    {"only_csv", {"more only in --csv", "件は --csv のみ"}},
    {"counters", {"Counters", "カウンタ"}},
    {"search", {"search, e.g. host.B cpu", "検索（例：host.B cpu）"}},
    {"zeros", {"zeros too", "ゼロも表示"}},
    {"shown", {"shown", "件表示"}},
    {"path", {"path", "パス"}},
    {"value", {"value", "値"}},
    {"meaning", {"what it is", "意味"}},
    {"configuration", {"Configuration in force", "有効な設定"}},
    {"source", {"where it comes from", "出典"}},
    {"summary", {"Summary", "概要"}},
    {"limited", {"What limited it", "何が制約したか"}},
    {"expectations", {"Expectations", "期待値との照合"}},
    {"measured", {"measured", "測定値"}},
    {"expected", {"expected", "期待値"}},
    {"met", {"met", "合格"}},
    {"missed", {"not met", "不合格"}},
    {"violations", {"Violated guarantees", "破られた保証"}},
    {"scenario", {"scenario", "シナリオ"}},
    {"seed", {"seed", "シード"}},
    {"end", {"simulated time", "シミュレーション時間"}},
    {"completed", {"messages completed", "完了メッセージ"}},
    {"latency", {"latency, median", "レイテンシ（中央値）"}},
    {"latency99", {"latency, 99 %", "レイテンシ（99 %）"}},
    {"goodput", {"goodput", "グッドプット"}},
    {"cpu", {"CPU of {}, data plane", "{} の CPU（データプレーン）"}},
    {"slept", {"0: it slept", "0：スリープ中"}},
};

const char* in(const Words& words, Language language) {
  return words[static_cast<std::size_t>(language)];
}

}  // namespace

const char* label(Label which, Language language) {
  return in(kLabels[static_cast<std::size_t>(which)], language);
}

std::string violation_label(const std::string& kind, Language language) {
  const auto* const found = std::find_if(std::begin(kViolations), std::end(kViolations),
                                         [&](const Named& n) { return kind == n.name; });
  if (language == Language::kEnglish || found == std::end(kViolations)) return kind;
  return fmt::format("{}（{}）", in(found->words, language), kind);
}

std::vector<std::pair<std::string, std::string>> page_words(Language language) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const Named& word : kPageWords) words.emplace_back(word.name, in(word.words, language));
  return words;
}

std::string lane_label(const std::string& host, const std::string& lane, Language language) {
  if (lane == "wire") return label(Label::kWire, language);
  const auto* const found = std::find_if(std::begin(kLanes), std::end(kLanes),
                                         [&](const Named& n) { return lane == n.name; });
  const std::string name = found == std::end(kLanes) ? lane : in(found->words, language);
  return fmt::format("{} {}", host, name);
}

std::string step_label(int step, bool tcp, Language language) {
  const Step& found = kSteps[static_cast<std::size_t>(step - 1)];
  return in(tcp ? found.tcp : found.verbs, language);
}

const char* stage_label(Stage stage, Language language) {
  return in(kStageWords[static_cast<std::size_t>(stage)], language);
}

std::string part_label(const TimelineRecord& record, Language language) {
  for (const Part& part : kParts)
    if (part.step == record.step && record.part == part.part) return in(part.words, language);
  const std::string text = record_text(record, language);
  return text.substr(0, text.find(';'));
}

}  // namespace rnicsim
