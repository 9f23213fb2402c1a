// SPDX-License-Identifier: MIT
#include "tools/export/finding_text.h"

#include <optional>
#include <string_view>
#include <vector>

namespace rnicsim {
namespace {

struct FindingWords {
  const char* english;   ///< {}: the shortest that fits, the last one all that is left
  const char* japanese;  ///< {0}, {1}: those, in Japanese
};

/// The first that fits.
constexpr FindingWords kFindings[] = {
    // Notes of the network and of PCIe.
    {"{} down from {} to {}: {} packets lost on it, {} dropped in front of it",
     "{0} は {1} から {2} まで断線：その上で {3} パケットを喪失、手前で {4} パケットを廃棄"},
    {"{} down from {} on: {} packets lost on it, {} dropped in front of it",
     "{0} は {1} 以降断線：その上で {2} パケットを喪失、手前で {3} パケットを廃棄"},
    {"host.{}: the PCIe link of its NICs runs at {}, below its {}",
     "host.{0}：NIC の PCIe リンクは本来の {2} を下回る {1} で動作"},
    {"{} of {} NICs of {} are none of the scenario: their places stay empty",
     "{2} の NIC {1} 個のうち {0} 個はシナリオになく、その場所は空き"},
    {"{} links to NVSwitches of {} are left out: they are no Ethernet",
     "{1} の NVSwitch へのリンク {0} 本はイーサネットではないため除外"},
    {"of each group's {} global links {} stay unused: they do not suffice for one more to every "
     "group",
     "各グループのグローバルリンク {0} 本のうち {1} "
     "本は、全グループへもう一本ずつには足りず未使用"},
    {"{} of {} places for NICs stay empty: {}", "NIC の場所 {1} か所のうち {0} か所は空き：{2}"},
    {"queue sizes of {} are left out: switches share their buffer",
     "{0} のキューの大きさは除外：スイッチはバッファを共有する"},
    // Pauses and losses.
    {"priority {} was paused by {} for {} without a break, from {} on",
     "優先度 {0} が {1} により、{3} から {2} にわたって途切れなくポーズされた"},
    {"priority {} was paused by the other end for {} without a break, from {} on",
     "優先度 {0} が相手側により、{2} から {1} にわたって途切れなくポーズされた"},
    {"priority {} paused the other end, and its watchdog ended that, for {} without a break, from "
     "{} on",
     "優先度 {0} が {2} から {1} にわたって途切れなく相手側をポーズし、ウォッチドッグが止めた"},
    {"a packet of lossless priority {} finds no room: the headroom is {} B, {} B are needed by now",
     "ロスレス優先度 {0} のパケットを置く空きがない：ヘッドルームは {1} B、必要なのは {2} B"},
    {"the receive buffer of {} B overflows: a lossless packet would be dropped; headroom is {} B, "
     "{} B are needed by now",
     "受信バッファ {0} B があふれ、ロスレスのパケットを廃棄するところだった。ヘッドルームは {1} "
     "B、必要なのは {2} B"},
    {"{} packets were dropped for lack of room, of priority {}, which {} takes for lossless: this "
     "switch does not pause it",
     "空きがなく {0} パケットを廃棄。{2} は優先度 {1} をロスレスとみなすが、このスイッチはそれを"
     "ポーズしない"},
    {"{} packets were refused: this switch is a router, and RoCEv1 has no IP header that it could "
     "forward by, nor do link-local addresses lead beyond it; RoCEv2 would pass, or forwarding "
     "\"bridged\"",
     "{0} パケットを拒否：このスイッチはルータで、RoCEv1 には転送に使える IP ヘッダがなく、"
     "リンクローカルアドレスもその先へは届かない。RoCEv2、または forwarding \"bridged\" なら通る"},
    // What should have come to an end.
    {"stopped before the end: {}", "終わる前に停止：{0}"},
    {"nothing is pending any more, but {}", "もう何も起こらないのに未完了：{0}"},
    {"work is left inside at the end", "終了時に処理が残っている"},
    {"{}; {}", "{0}；{1}"},
    {"{} waits for {}", "{0}が次を待つ：{1}"},
    {"{} (priority {})", "{0}（優先度 {1}）"},
    {"workload {} on host {}: {}, {} of {} messages completed",
     "ホスト {1} のワークロード {0}：{2}、{4} 件中 {3} 件のメッセージが完了"},
    {"workload {} on host {}: {}, {} of {} messages done",
     "ホスト {1} のワークロード {0}：{2}、{4} 件中 {3} 件のメッセージが完了"},
    {"workload {} on host {}: {}, {} of {} sizes done",
     "ホスト {1} のワークロード {0}：{2}、{4} サイズ中 {3} サイズが完了"},
    {"workload {} on host {}: {}, {} of {} done",
     "ホスト {1} のワークロード {0}：{2}、{4} 件中 {3} 件が完了"},
    {"workload {} on host {}: {} after {} tries",
     "ホスト {1} のワークロード {0}：{3} 回の試行の後、{2}"},
    {"workload {} on host {}: {}", "ホスト {1} のワークロード {0}：{2}"},
    {"workload {}: {}, {} of {} measurements done",
     "ワークロード {0}：{1}、{3} 件中 {2} 件の測定が完了"},
    {"flow {} of {}, {} from {} to {}: {}", "{1} のフロー {0}（{3} から {4} へ {2}）：{5}"},
    {"{} more flows of {}", "{1} のフローがほかに {0} 件"},
    {"{} posted, waiting for completions, {} of {} messages on its queue pair completed, its send "
     "queue is full",
     "{0} をポスト済みで完了待ち、そのキューペアのメッセージ {2} 件中 {1} "
     "件が完了、送信キューは満杯"},
    {"{} posted, waiting for completions, {} of {} messages on its queue pair completed",
     "{0} をポスト済みで完了待ち、そのキューペアのメッセージ {2} 件中 {1} 件が完了"},
    {"not due yet", "まだ開始時刻ではない"},
    {"waiting for flow {}", "フロー {0} を待機中"},
    {"waiting for flows {}", "フロー {0} を待機中"},
    // What programs do.
    {"the connection {} while {}", "{1}に接続が失敗（{0}）"},
    {"refused", "拒否された"},
    {"reset by the peer", "相手がリセット"},
    {"timed out", "タイムアウト"},
    {"starting", "起動中"},
    {"registering memory", "メモリを登録中"},
    {"creating queue pairs", "キューペアを作成中"},
    {"connecting queue pairs", "キューペアを接続中"},
    {"connecting to the target's control channel", "ターゲットの制御チャネルに接続中"},
    {"connecting to the server's control channel", "サーバの制御チャネルに接続中"},
    {"connecting", "接続中"},
    {"waiting for address, length and rkey", "アドレス・長さ・rkey を待機中"},
    {"waiting for the initiator to introduce itself", "イニシエータの名乗りを待機中"},
    {"waiting for the client to introduce itself", "クライアントの名乗りを待機中"},
    {"waiting for the server to introduce itself", "サーバの名乗りを待機中"},
    {"waiting for the server to be ready", "サーバの準備完了を待機中"},
    {"waiting for the server to listen", "サーバの待ち受け開始を待機中"},
    {"waiting for the client to connect", "クライアントの接続を待機中"},
    {"waiting for the stream's end", "ストリームの終わりを待機中"},
    {"waiting for the service", "サービスを待機中"},
    {"waiting for its READ to be answered", "READ の応答を待機中"},
    {"waiting until all hosts are connected", "全ホストの接続を待機中"},
    {"posting and polling", "ポストとポーリング中"},
    {"posting flows", "フローをポスト中"},
    {"taking receives", "受信を処理中"},
    {"asleep until the initiator has finished", "イニシエータの終了までスリープ中"},
    {"asleep until the client is done", "クライアントの終了までスリープ中"},
    {"asleep until somebody connects", "接続されるまでスリープ中"},
    {"polling for its own work after the failure", "失敗の後、自身の処理の完了をポーリング中"},
    {"trying keys that it has given back", "返却した鍵を試行中"},
    {"registering and deregistering", "登録と登録解除中"},
    {"opening the network interface", "ネットワークインタフェースを開く途中"},
    {"sending and waiting for answers", "送信と応答待ち"},
    {"sending", "送信中"},
    {"receiving and answering", "受信と応答中"},
    {"receiving", "受信中"},
    {"closing", "接続を閉じる途中"},
    {"done with a size", "一つのサイズが終了"},
    {"done", "終了"},
    // What does not agree.
    {"{} requests came out of sequence", "{0} 件の要求が順序どおりに届かなかった"},
    {"{}: {} B entered, {} B left", "{0}：入ったのは {1} B、出たのは {2} B"},
    {"{} B of payload were written, {} B completed",
     "書き込まれたペイロードは {0} B、完了したのは {1} B"},
    {"{} messages posted, {} completed, {} without completion",
     "メッセージ {0} 件をポスト、{1} 件が完了、{2} 件は完了なし"},
    {"{} of {} messages from {} to {} completed",
     "{2} から {3} へのメッセージ {1} 件中 {0} 件が完了"},
    {"{} of {} messages have arrived", "メッセージ {1} 件中 {0} 件が到着"},
    {"{} bytes of the streams differ from what was sent",
     "ストリームの {0} バイトが送信したものと異なる"},
    {"{} B that came from {} to {} are wrong, the first at offset {}",
     "{1} から {2} に届いた {0} B が誤り、最初はオフセット {3}"},
    {"what was read is not the secret", "読み出した内容が秘密のデータと異なる"},
    {"a key opened the region that is not its own", "別の領域の鍵で領域が開いた"},
    {"{} tries failed otherwise than refused", "{0} 回の試行が拒否以外の形で失敗"},
};

/// What stands in the places of `pattern`, if the text is such a sentence.
std::optional<std::vector<std::string>> places_of(std::string_view pattern, std::string_view text) {
  std::vector<std::string> places;
  for (;;) {
    const std::size_t place = pattern.find("{}");
    const std::string_view words = pattern.substr(0, place);
    if (text.substr(0, words.size()) != words) return std::nullopt;
    text.remove_prefix(words.size());
    if (place == std::string_view::npos) return text.empty() ? std::optional(places) : std::nullopt;
    pattern.remove_prefix(place + 2);
    const std::string_view next = pattern.substr(0, pattern.find("{}"));
    const bool is_last = next.size() == pattern.size();
    std::size_t end = next.empty() ? text.size() : text.find(next);
    if (is_last && text.size() >= next.size()) end = text.size() - next.size();
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    places.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string with_places(std::string_view text, const std::vector<std::string>& places) {
  std::string filled;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_place = text[at] == '{' && at + 2 < text.size() && text[at + 2] == '}';
    if (!is_place) {
      filled += text[at];
      continue;
    }
    filled +=
        finding_text(places[static_cast<std::size_t>(text[at + 1] - '0')], Language::kJapanese);
    at += 2;
  }
  return filled;
}

}  // namespace

std::string finding_text(const std::string& english, Language language) {
  if (language == Language::kEnglish) return english;
  for (const FindingWords& words : kFindings)
    if (const auto places = places_of(words.english, english))
      return with_places(words.japanese, *places);
  return english;
}

}  // namespace rnicsim
