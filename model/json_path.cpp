// SPDX-License-Identifier: MIT
#include "model/json_path.h"

#include <charconv>

namespace rnicsim {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> keys;
  std::size_t begin = 0;
  while (true) {
    const std::size_t dot = path.find('.', begin);
    keys.emplace_back(path.substr(begin, dot - begin));
    if (dot == std::string_view::npos) return keys;
    begin = dot + 1;
  }
}

/// The index that `key` spells, if it is one.
bool read_index(const std::string& key, std::size_t& index) {
  const char* end = key.data() + key.size();
  const auto result = std::from_chars(key.data(), end, index);
  return result.ec == std::errc() && result.ptr == end;
}

const JsonNode* child_at(const JsonNode& node, const std::string& key) {
  std::size_t index = 0;
  if (node.is_array() && read_index(key, index) && index < node.children().size())
    return &node.children()[index];
  return node.find(key);
}

const std::string* name_of_element(const JsonNode& element) {
  const JsonNode* name = element.find("name");
  return name != nullptr && name->is_string() ? &name->text() : nullptr;
}

/// One walk of set_path.
class PathSetter {
 public:
  PathSetter(std::string_view path, const JsonNode& value)
      : path_(path), keys_(split_path(path)), value_(value) {}

  void run(JsonNode& root) {
    if (keys_.size() > kMaxJsonDepth)
      throw failure("a path of at most " + std::to_string(kMaxJsonDepth) + " keys", "more");
    for (const std::string& key : keys_)
      if (key.empty()) throw failure("keys joined by dots", "an empty key");
    descend(root, 0);
  }

 private:
  ConfigError failure(std::string expected, std::string found) const {
    return error_at(value_, std::string(path_), std::move(expected), std::move(found));
  }
  std::string path_to(std::size_t depth) const {
    std::string path;
    for (std::size_t i = 0; i < depth; ++i) path = join_path(path, keys_[i]);
    return path;
  }

  void descend(JsonNode& node, std::size_t depth) {
    if (depth == keys_.size())
      assign(node);
    else if (node.is_array())
      descend_list(node, depth);
    else if (node.is_object())
      descend_object(node, depth);
    else
      throw failure("a list or an object at \"" + path_to(depth) + "\"", node.found_text());
  }

  void assign(JsonNode& node) {
    if (value_.is_object()) {
      merge_patch(node, value_);
      return;
    }
    std::string key = node.key();
    node = value_;
    node.rename(std::move(key));
  }

  void descend_all(JsonNode& node, std::size_t depth) {
    if (node.children().empty())
      throw failure("something to match \"*\"", "nothing in \"" + path_to(depth) + "\"");
    for (JsonNode& child : node.children()) descend(child, depth + 1);
  }

  void descend_object(JsonNode& node, std::size_t depth) {
    const std::string& key = keys_[depth];
    if (key == "*") return descend_all(node, depth);
    JsonNode* child = node.find(key);
    if (child == nullptr) {
      JsonNode created = JsonNode::object();
      created.set_place(value_);
      child = &node.set(key, std::move(created));
    }
    descend(*child, depth + 1);
  }

  void descend_list(JsonNode& node, std::size_t depth) {
    const std::string& key = keys_[depth];
    if (key == "*") return descend_all(node, depth);
    std::vector<JsonNode>& elements = node.children();
    std::size_t index = 0;
    if (read_index(key, index) && index < elements.size())
      return descend(elements[index], depth + 1);
    std::vector<std::string> names;
    for (JsonNode& element : elements) {
      const std::string* name = name_of_element(element);
      if (name == nullptr) continue;
      if (*name == key) return descend(element, depth + 1);
      names.push_back(*name);
    }
    std::string expected = elements.empty() ? std::string("elements")
                                            : "an index below " + std::to_string(elements.size());
    if (!names.empty()) expected += " or a name (" + one_of_text(names) + ")";
    throw failure(expected + " in list \"" + path_to(depth) + "\"",
                  elements.empty() ? "an empty list" : in_quotes(key));
  }

  std::string_view path_;
  std::vector<std::string> keys_;
  const JsonNode& value_;
};

}  // namespace

void set_path(JsonNode& root, std::string_view path, const JsonNode& value) {
  PathSetter(path, value).run(root);
}

bool has_node(const JsonNode& root, std::string_view path) {
  const JsonNode* node = &root;
  for (const std::string& key : split_path(path)) {
    node = child_at(*node, key);
    if (node == nullptr) return false;
  }
  return true;
}

const JsonNode& nearest_node(const JsonNode& root, std::string_view path) {
  const JsonNode* node = &root;
  for (const std::string& key : split_path(path)) {
    const JsonNode* next = child_at(*node, key);
    if (next == nullptr) break;
    node = next;
  }
  return *node;
}

}  // namespace rnicsim
