// SPDX-License-Identifier: MIT
#include "scenarios/engine/scenario_reader.h"

#include <nlohmann/json.hpp>

#include "model/config_output.h"
#include "model/json_path.h"
#include "scenarios/engine/scenario_checks.h"

namespace rnicsim {
namespace {

/// Command-line values have no lines.
void place_at_option(JsonNode& node, const std::shared_ptr<const std::string>& option) {
  node.set_place(option, 0);
  for (JsonNode& child : node.children()) place_at_option(child, option);
}

/// A NIC may be written "nic": {...} or "nics": [{...}]. Before a path goes through one of them,
/// hosts that have the other are rewritten, so that both spellings reach every host.
void spell_nics_as(JsonNode& hosts, const std::string& key) {
  for (JsonNode& host : hosts.children()) {
    if (!host.is_object()) continue;
    if (key == "nics" && host.find("nics") == nullptr) {
      JsonNode list = JsonNode::array();
      list.set_place(host);
      if (const JsonNode* nic = host.find("nic"))
        list.append(*nic);
      else
        list.append(JsonNode::object()).set_place(host);
      host.erase("nic");
      host.set("nics", std::move(list));
    } else if (key == "nic" && host.find("nic") == nullptr) {
      const JsonNode* list = host.find("nics");
      if (list == nullptr || !list->is_array() || list->children().size() != 1) continue;
      JsonNode nic = list->children()[0];
      host.erase("nics");
      host.set("nic", std::move(nic));
    }
  }
}

void lay_over(JsonNode& document, const std::string& path, const JsonNode& value) {
  JsonNode* hosts = document.find("hosts");
  if (hosts != nullptr && path.rfind("hosts.", 0) == 0) {
    const std::size_t begin = path.find('.', 6);
    if (begin != std::string::npos) {
      const std::string key = path.substr(begin + 1, path.find('.', begin + 1) - begin - 1);
      if (key == "nic" || key == "nics") spell_nics_as(*hosts, key);
    }
  }
  set_path(document, path, value);
}

/// `Spec`: what the elements of `list` are.
template <class Spec>
void lay_set_over(JsonNode& document, const std::string& list, const std::string& name) {
  std::vector<std::string> names;
  const JsonNode* variants = document.find(list);
  for (std::size_t i = 0; variants != nullptr && i < variants->children().size(); ++i) {
    Spec variant;
    read_config(variants->children()[i], variant, join_path(list, std::to_string(i)));
    names.push_back(variant.name);
    if (variant.name != name) continue;
    for (const JsonNode& value : variant.set->children()) lay_over(document, value.key(), value);
    return;
  }
  ConfigError::Detail detail;
  detail.file = document.file();
  detail.path = list;
  detail.found =
      "unknown " + std::string(list == "ablate" ? "ablation " : "variant ") + in_quotes(name);
  detail.nearest = nearest_of(name, names);
  throw ConfigError(std::move(detail));
}

void lay_option_over(JsonNode& document, const std::string& assignment) {
  static const auto kOption = std::make_shared<const std::string>("--set");
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    ConfigError::Detail detail;
    detail.file = *kOption;
    detail.expected = "PATH=VALUE";
    detail.found = in_quotes(assignment);
    throw ConfigError(std::move(detail));
  }
  const std::string text = assignment.substr(equals + 1);
  JsonNode value =
      nlohmann::json::accept(text) ? parse_json(text, *kOption) : JsonNode::string(text);
  place_at_option(value, kOption);
  lay_over(document, assignment.substr(0, equals), value);
}

/// Puts `node` over the values of the preset that it names, if it does.
void merge_preset(JsonNode& node, const std::string& path, PresetKind kind, PresetSource& presets) {
  if (!node.is_object()) return;
  JsonNode merged = JsonNode::object();
  const JsonNode* name = node.find("preset");
  if (name != nullptr && name->is_string()) {
    const std::shared_ptr<const Preset> preset = presets.find(kind, name->text());
    if (preset == nullptr)
      throw unknown_preset(*name, join_path(path, "preset"), kind, presets.names(kind));
    merge_patch(merged, *preset->values);
  }
  merged.set_place(node);
  merge_patch(merged, node);
  merged.rename(node.key());
  node = std::move(merged);
}

void merge_nic_presets(JsonNode& nic, const std::string& path, PresetSource& presets) {
  merge_preset(nic, path, PresetKind::kNic, presets);
  if (JsonNode* control = nic.find("congestion_control"))
    merge_preset(*control, path + ".congestion_control", PresetKind::kCongestionControl, presets);
}

void merge_host_presets(JsonNode& host, const std::string& path, PresetSource& presets) {
  merge_preset(host, path, PresetKind::kHost, presets);
  if (JsonNode* nic = host.find("nic")) merge_nic_presets(*nic, path + ".nic", presets);
  if (JsonNode* exerciser = host.find("exerciser"))
    merge_preset(*exerciser, path + ".exerciser", PresetKind::kExerciser, presets);
  JsonNode* nics = host.find("nics");
  if (nics == nullptr || !nics->is_array()) return;
  for (std::size_t i = 0; i < nics->children().size(); ++i)
    merge_nic_presets(nics->children()[i], path + ".nics." + std::to_string(i), presets);
}

/// Lays an object over those values of another that it does not have itself.
void inherit(JsonNode& node, const JsonNode* from, const std::vector<std::string>& but) {
  if (from == nullptr || !from->is_object() || !node.is_object()) return;
  JsonNode merged = *from;
  merged.erase("preset");
  for (const std::string& key : but) merged.erase(key);
  merged.set_place(node);
  merge_patch(merged, node);
  merged.rename(node.key());
  node = std::move(merged);
}

void merge_fabric_presets(JsonNode& fabric, PresetSource& presets) {
  const auto merge = [&](const char* key, PresetKind kind) -> JsonNode* {
    JsonNode* node = fabric.find(key);
    if (node != nullptr) merge_preset(*node, join_path("fabric", key), kind, presets);
    return node;
  };
  const JsonNode* link = merge("link", PresetKind::kLink);
  JsonNode* between = merge("switch_link", PresetKind::kLink);
  if (between != nullptr) inherit(*between, link, {"faults"});
  JsonNode* global = merge("global_link", PresetKind::kLink);
  if (global != nullptr) inherit(*global, between != nullptr ? between : link, {"faults"});
  const JsonNode* of_all = merge("switch", PresetKind::kSwitch);
  JsonNode* others = fabric.find("switches");
  if (others == nullptr || !others->is_array()) return;
  for (std::size_t i = 0; i < others->children().size(); ++i) {
    JsonNode& other = others->children()[i];
    merge_preset(other, "fabric.switches." + std::to_string(i), PresetKind::kSwitch, presets);
    inherit(other, of_all, {});
  }
}

void merge_presets(JsonNode& document, PresetSource& presets) {
  JsonNode* hosts = document.find("hosts");
  if (hosts != nullptr && hosts->is_array()) {
    for (std::size_t i = 0; i < hosts->children().size(); ++i)
      merge_host_presets(hosts->children()[i], "hosts." + std::to_string(i), presets);
  }
  if (JsonNode* fabric = document.find("fabric")) merge_fabric_presets(*fabric, presets);
}

}  // namespace

Scenario read_scenario(const JsonNode& document, const ScenarioSelection& selection,
                       PresetSource& presets) {
  if (!document.is_object()) throw error_at(document, "", "an object", document.found_text());
  JsonNode layered = document;
  if (!selection.variant.empty()) lay_set_over<VariantSpec>(layered, "variants", selection.variant);
  if (!selection.ablation.empty())
    lay_set_over<AblationSpec>(layered, "ablate", selection.ablation);
  for (const JsonNode& value : selection.changes) lay_over(layered, value.key(), value);
  for (const std::string& assignment : selection.sets) lay_option_over(layered, assignment);
  merge_presets(layered, presets);

  Scenario scenario;
  read_config(layered, scenario);
  check_scenario(layered, scenario);
  scenario.variant = selection.variant;
  return scenario;
}

JsonNode file_schema(const char* title, ConfigRef config) {
  JsonNode schema = JsonNode::object();
  schema.set("$schema", JsonNode::string("https://json-schema.org/draft/2020-12/schema"));
  schema.set("title", JsonNode::string(title));
  JsonNode body = config_schema(config);
  JsonNode reference = JsonNode::object();
  reference.set("type", JsonNode::string("string"));
  body.find("properties")->set("$schema", std::move(reference));
  for (JsonNode& member : body.children()) {
    const std::string key = member.key();
    schema.set(key, std::move(member));
  }
  return schema;
}

JsonNode scenario_schema() {
  Scenario scenario;
  return file_schema("rnicsim scenario", scenario);
}

}  // namespace rnicsim
