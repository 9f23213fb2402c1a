// SPDX-License-Identifier: MIT
// JSON as a scenario file needs it: a tree in the file's order in which every node knows file and
// line, so that an error can point at them.
//
// Stricter than RFC 8259: a duplicate key is an error, nesting is limited. More lenient in nothing.
// Members named "$comment" (anywhere) and "$schema" (at the top) are read and dropped. Numbers stay
// as written: no integer is too big to be named in an error, none is rounded.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/config_error.h"

namespace rnicsim {

/// Lists and objects within one another.
constexpr std::size_t kMaxJsonDepth = 64;

class JsonNode {
 public:
  enum class Type : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  JsonNode() = default;  ///< null
  static JsonNode object() { return JsonNode(Type::kObject, {}); }
  static JsonNode array() { return JsonNode(Type::kArray, {}); }
  static JsonNode string(std::string text) { return JsonNode(Type::kString, std::move(text)); }
  static JsonNode boolean(bool value) { return JsonNode(Type::kBool, value ? "true" : "false"); }
  static JsonNode number(std::uint64_t value) { return number(std::to_string(value)); }
  /// REQUIRES: `text` is a JSON number.
  static JsonNode number(std::string text) { return JsonNode(Type::kNumber, std::move(text)); }

  Type type() const { return type_; }
  bool is_null() const { return type_ == Type::kNull; }
  bool is_bool() const { return type_ == Type::kBool; }
  bool is_number() const { return type_ == Type::kNumber; }
  bool is_string() const { return type_ == Type::kString; }
  bool is_array() const { return type_ == Type::kArray; }
  bool is_object() const { return type_ == Type::kObject; }
  /// A string's characters, a number as written, "true" or "false", "null".
  const std::string& text() const { return text_; }
  /// For messages: `"text"`, `250`, `true`, `null`, `a list`, `an object`.
  std::string found_text() const;

  /// The member's key; empty for list elements and the root.
  const std::string& key() const { return key_; }
  /// Members or elements, in order.
  const std::vector<JsonNode>& children() const { return children_; }
  std::vector<JsonNode>& children() { return children_; }
  /// The member of that key, or null.
  const JsonNode* find(std::string_view key) const;
  JsonNode* find(std::string_view key);
  /// Replaces the member of that key in its place, or appends it. Returns it.
  JsonNode& set(std::string key, JsonNode value);
  JsonNode& append(JsonNode value);
  void erase(std::string_view key);
  void rename(std::string key) { key_ = std::move(key); }

  std::string file() const { return file_ ? *file_ : std::string(); }
  int line() const { return line_; }
  void set_place(std::shared_ptr<const std::string> file, int line);
  void set_place(const JsonNode& other) { set_place(other.file_, other.line_); }

 private:
  JsonNode(Type type, std::string text) : type_(type), text_(std::move(text)) {}

  Type type_ = Type::kNull;
  int line_ = 0;
  std::string key_;
  std::string text_ = "null";
  std::vector<JsonNode> children_;
  std::shared_ptr<const std::string> file_;
};

/// Throws ConfigError; `file` is the name that errors give.
JsonNode parse_json(std::string_view text, const std::string& file);
JsonNode read_json_file(const std::string& file);

/// An error about `node`.
ConfigError error_at(const JsonNode& node, std::string path, std::string expected,
                     std::string found);

/// RFC 7396: members of `patch` replace or extend those of `target`, null removes, lists are
/// replaced whole. What is taken over keeps its own file and line.
void merge_patch(JsonNode& target, const JsonNode& patch);

/// Keys and list indices are joined by dots.
std::string join_path(const std::string& path, std::string_view key);

nlohmann::ordered_json to_nlohmann(const JsonNode& node);

}  // namespace rnicsim
