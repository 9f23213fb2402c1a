// SPDX-License-Identifier: MIT
#include "tools/export/record_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rnicsim {
namespace {

struct Sentence {
  int step;
  const char* part;
  const char* what;  ///< nullptr: whatever it is
  const char* text;
};

/// The first that fits.
constexpr Sentence kSentences[] = {
    {1, "start", nullptr, "アプリケーションが起動する"},
    {2, "pin", nullptr, "カーネルが全ページをピン留めする"},
    {2, "table", nullptr, "仮想アドレスから物理アドレスへの変換テーブルをホスト RAM に作る"},
    {2, "key", nullptr, "lkey と rkey を発行し、NIC に知らせる"},
    {3, "connect", nullptr, "接続：SYN、SYN と ACK、ACK"},
    {3, "send", nullptr, "送信：システムコール、コピー、セグメント、ドアベル"},
    {3, "hand over", "TCP", "同じホスト間の TCP 接続で渡す"},
    {3, "hand over", nullptr, "設定されたレイテンシの制御チャネルで渡す"},
    {3, "segments", nullptr, "TCP のセグメント［長さ | メッセージ］"},
    {3, "softirq", nullptr, "割り込み、softirq、ソケットへ"},
    {3, "receive", nullptr, "受信：プログラムが起床し、CPU がコピーする"},
    {4, "descriptor", nullptr, "送信ワークキューにディスクリプタを書く"},
    {4, "doorbell", nullptr, "ドアベル：MMIO 書き込み一回、カーネルは介在しない"},
    {4, "fetch", nullptr, "NIC がディスクリプタを DMA で読む"},
    {4, "system call", nullptr, "システムコール、戻るまで"},
    {4, "copy", nullptr, "CPU がカーネルのメモリへコピーする"},
    {4, "segments", nullptr, "プロトコル処理とヘッダ、リングへのディスクリプタ"},
    {5, "lkey and address", nullptr, "lkey を検査し、アドレスを変換する"},
    {5, "payload read", nullptr, "ペイロードを RAM から DMA で読む"},
    {5, "DMA read", nullptr, "ヘッダとペイロードを RAM から DMA で読む"},
    {6, "packets", "write_imm", "パケット［アドレス + rkey | データ | 即値］"},
    {6, "packets", "read", "要求［アドレス + rkey + 長さ］"},
    {6, "packets", "send", "パケット［データ］"},
    {6, "packets", "send_imm", "パケット［データ | 即値］"},
    {6, "packets", "send_invalidate", "パケット［データ | 無効化する rkey］"},
    {6, "packets", "compare_swap", "要求［アドレス + rkey + オペランド］"},
    {6, "packets", "fetch_add", "要求［アドレス + rkey + オペランド］"},
    {6, "packets", nullptr, "パケット［アドレス + rkey | データ］"},
    {6, "answers", nullptr, "応答［データ］"},
    {6, "segments", nullptr, "セグメント［ヘッダ | データ］"},
    {7, "rkey check", nullptr, "rkey の検査：有効性、保護ドメイン、範囲、権限"},
    {7, "translation", nullptr, "仮想アドレスから物理アドレスへの変換"},
    {7, "key operation", "SEND", "SEND が鍵を無効化する"},
    {7, "key operation", nullptr, "ウィンドウの割り当て、または鍵の無効化"},
    {7, "DMA write", nullptr, "カーネルのメモリへ書く"},
    {7, "interrupt sent", nullptr, "MSI-X メッセージ：ポステッド書き込み一回"},
    {7, "interrupt", nullptr, "コアが割り込みを受ける"},
    {8, "DMA write", nullptr, "アプリケーションのメモリへ書く"},
    {8, "softirq", nullptr, "softirq がリングをポーリングする"},
    {8, "socket buffer", nullptr, "プロトコル処理、セグメントをソケットへ入れる"},
    {8, "woken", nullptr, "スリープ中のプログラムを起こす"},
    {9, "ACK", nullptr, "確認応答が戻る"},
    {9, "CQE", nullptr, "完了エントリをホスト RAM に書く"},
    {9, "receive CQE", nullptr, "受信の完了エントリを書く"},
    {9, "polled", nullptr, "ポーリング中の CPU が完了を見つける"},
    {9, "event", nullptr, "イベントエントリをホスト RAM に書く"},
    {9, "receive event", nullptr, "受信のイベントエントリを書く"},
    {9, "interrupt sent", nullptr, "MSI-X メッセージ：ポステッド書き込み一回"},
    {9, "receive interrupt sent", nullptr, "MSI-X メッセージ：ポステッド書き込み一回"},
    {9, "interrupt", nullptr, "コアが割り込みを受ける"},
    {9, "receive interrupt", nullptr, "コアが割り込みを受ける"},
    {9, "woken", nullptr, "スリープ中のプログラムを起こす"},
    {9, "receive woken", nullptr, "スリープ中の受信側を起こす"},
    {9, "copy", nullptr, "CPU がプログラムのメモリへコピーする"},
    {9, "return", nullptr, "receive が戻る"},
};

/// In the order of RecordDetail::Kind.
constexpr const char* kFaults[] = {
    "",
    "{what}：失われる",
    "{what}：破損する",
    "{what}：二度届く",
    "{what}：遅れる",
    "{what}：留め置かれ、追い越される",
    "再送（{why}）：{what}",
    "接続 {what} が失敗：{why}",
    "相手のないセグメントにリセットを返す：{what}",
    "アクセス拒否：{why}",
    "NAK を送る：{why}",
    "ページの不在をドライバに知らせる",
    "{number} ページを読み込む",
    "鍵の操作を拒否する",
    "キューペア {number} が {what} へ移る：{why}",
    "エラーで完了：{why}",
    "ほかに {number} 件の障害（表示なし）",
};

/// As the models name them.
constexpr Words kReasons[] = {
    {"key never issued", "発行されていない鍵"},
    {"stale key of a deregistered region", "登録解除されたメモリ領域の古い鍵"},
    {"key of another protection domain", "別の保護ドメインの鍵"},
    {"address range outside the region", "メモリ領域の範囲外のアドレス"},
    {"no access right", "アクセス権なし"},
    {"page not present in the translation table", "変換テーブルにページがない"},
    {"PSN sequence error", "PSN シーケンスエラー"},
    {"invalid request", "不正な要求"},
    {"remote access error", "リモートアクセスエラー"},
    {"remote operational error", "リモート動作エラー"},
    {"unknown NAK", "不明な NAK"},
    {"local length error", "ローカル長エラー"},
    {"local QP operation error", "ローカル QP 操作エラー"},
    {"local protection error", "ローカル保護エラー"},
    {"work request flushed", "ワークリクエストのフラッシュ"},
    {"memory window bind error", "メモリウィンドウ割り当てエラー"},
    {"bad response", "不正な応答"},
    {"local access error", "ローカルアクセスエラー"},
    {"remote invalid request error", "リモート不正要求エラー"},
    {"remote operation error", "リモート操作エラー"},
    {"transport retry counter exceeded", "トランスポートの再試行回数超過"},
    {"RNR retry counter exceeded", "RNR の再試行回数超過"},
    {"after duplicates", "重複確認応答の後"},
    {"after a timeout", "タイムアウトの後"},
    {"to probe the tail", "末尾の確認のため"},
    {"refused", "拒否された"},
    {"reset by the peer", "相手がリセット"},
    {"timed out", "タイムアウト"},
    {"closed with data that nobody reads", "読まれないデータを残して終了"},
    {"no port left", "ポートの空きなし"},
};

std::string reason_in_japanese(const std::string& why) {
  const auto* const found = std::find_if(std::begin(kReasons), std::end(kReasons),
                                         [&](const Words& reason) { return why == reason[0]; });
  return found == std::end(kReasons) ? why : (*found)[1];
}

std::string fault_in_japanese(const RecordDetail& detail) {
  return fmt::format(fmt::runtime(kFaults[static_cast<std::size_t>(detail.kind)]),
                     fmt::arg("what", detail.what), fmt::arg("number", detail.number),
                     fmt::arg("why", reason_in_japanese(detail.why)));
}

}  // namespace

std::string record_text(const TimelineRecord& r, Language language) {
  if (language == Language::kEnglish) return r.text;
  if (r.detail.kind != RecordDetail::Kind::kNone) return fault_in_japanese(r.detail);
  const auto* const found =
      std::find_if(std::begin(kSentences), std::end(kSentences), [&](const Sentence& s) {
        return s.step == r.step && r.part == s.part &&
               (s.what == nullptr || r.detail.what == s.what);
      });
  if (found == std::end(kSentences)) return r.text;
  std::string text = found->text;
  if (r.detail.misses != 0) text += fmt::format("、うち {} 件はテーブルを待った", r.detail.misses);
  if (r.count > 1)
    text += fmt::format("。全 {} 件：最初は {:.3f} µs まで、最後は {:.3f} µs から", r.count,
                        r.first_end.as_us(), r.last_begin.as_us());
  return text;
}

}  // namespace rnicsim
