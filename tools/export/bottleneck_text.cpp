// SPDX-License-Identifier: MIT
#include "tools/export/bottleneck_text.h"

#include <fmt/format.h>

#include <utility>

#include "scenarios/engine/bottleneck_resource.h"
#include "tools/export/value_text.h"

namespace rnicsim {
namespace {

/// In the order of ResourceKind.
constexpr const char* kResources[] = {
    "{host} から出るワイヤ",
    "{host} が受けたポーズ",
    "{host} が求めたポーズ（NIC が満杯）",
    "{host} の NIC からメモリへの PCIe",
    "{host} のメモリから NIC への PCIe",
    "{host} のメモリ帯域",
    "{host} のメモリノード間の経路",
    "{host} のメモリ領域のページフォルト",
    "{host} の IOMMU のページウォーク",
    "{host} のデータを処理する CPU コア",
    "{host} の PCIe スイッチの上流リンク（メモリへ）",
    "{host} の PCIe スイッチの上流リンク（メモリから）",
    "{host} のルートコンプレックス（ポート間の書き込み）",
    "{host} のルートコンプレックス（ポート間のコンプリーション）",
    "{host} の {block} への PCIe",
    "{host} の {block} からの PCIe",
    "{host} の {block} の BAR（書き込み）",
    "{host} の {block} の BAR（読み出し）",
    "{host} の NIC の変換テーブルのウォーク（ミスレジスタに空きなし）",
    "{host} の同じアドレスへのアトミック操作（一つずつ順に）",
    "{host} の NIC の PCIe 読み出し（タグがすべて使用中）",
    "{host} のメモリへの書き込み（NIC が許す数まで処理中）",
    "{host} の {block} のコピーエンジン",
    "{host} の {block}",
};

std::string resource_in_japanese(const std::string& path) {
  const Resource resource = resource_of(path);
  return fmt::format(fmt::runtime(kResources[static_cast<std::size_t>(resource.kind)]),
                     fmt::arg("host", resource.host), fmt::arg("block", resource.block));
}

constexpr std::pair<const char*, const char*> kStates[] = {
    {"busy", "使用中"},
    {"full", "満杯"},
    {"stopped", "停止中"},
};

std::string percent_text(double part) { return fmt::format("{:.1f} %", 100 * part); }

/// Of a resource that was used up.
std::string share_in_japanese(const Bottleneck& b, const std::string& state) {
  std::string text =
      fmt::format("{}（{} の {}{}、{}）", state, short_text(b.span), percent_text(b.part),
                  b.over_sizes ? "、全サイズの合計" : "", b.resource);
  if (!b.next.empty())
    text += fmt::format("。次点：{}、{}", resource_in_japanese(b.next), percent_text(b.next_part));
  return text;
}

/// Of all resources, when none was.
std::string busiest_in_japanese(const Bottleneck& b) {
  if (b.next.empty()) return "使用中の資源はなかった";
  return fmt::format("最も使われた資源でも {}（{}）", percent_text(b.next_part),
                     resource_in_japanese(b.next));
}

std::string waited_in_japanese(const Bottleneck& b) {
  const std::string each = b.each == Time() ? "" : fmt::format("、各 {}", short_text(b.each));
  if (b.kind == "latency")
    return b.count == 1 ? "レイテンシ（メッセージは一つ）"
                        : fmt::format("レイテンシ：メッセージは一度に一つ{}", each);
  if (b.kind == "max_rd_atomic")
    return fmt::format(
        "max_rd_atomic：同時に処理できる READ・アトミックはキューペアごとに {} 個までで、"
        "送信ターンが {} 回その終わりを待った",
        b.limit, b.count);
  if (b.kind == "congestion_control")
    return fmt::format("輻輳制御：輻輳通知（CNP）{} 個がレートを下げた", b.count);
  if (b.kind == "window")
    return fmt::format("ウィンドウ：同時に送出できるメッセージ {} 個のうち {} 個が処理中{}",
                       b.limit, b.count, each);
  return fmt::format("制約となった資源はない{}", b.over_sizes ? "（全サイズの合計）" : "");
}

}  // namespace

std::string bottleneck_text(const Bottleneck& b, Language language) {
  if (language == Language::kEnglish) return b.text;
  for (const auto& [kind, state] : kStates)
    if (b.kind == kind)
      return fmt::format("{}：{}", resource_in_japanese(b.resource), share_in_japanese(b, state));
  if (b.kind == "one_at_a_time")
    return fmt::format("{}の往復：{}", resource_in_japanese(b.resource),
                       share_in_japanese(b, "一度に一つずつ処理中"));
  return fmt::format("{}。{}", waited_in_japanese(b), busiest_in_japanese(b));
}

}  // namespace rnicsim
