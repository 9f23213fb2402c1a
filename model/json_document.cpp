// SPDX-License-Identifier: MIT
#include "model/json_document.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace rnicsim {
namespace {

/// Hands the parser its characters and counts lines. The parser has no positions to give, and it
/// looks one character ahead behind a number; so the line of a token is that of the last character
/// read that is not white space.
struct LineCounter {
  int line = 1;
  int token_line = 1;

  void count(char c) {
    if (c == '\n')
      ++line;
    else if (c != ' ' && c != '\t' && c != '\r')
      token_line = line;
  }
};

class CountingIterator {
 public:
  // NOLINTBEGIN(readability-identifier-naming): names that the standard gives
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  // NOLINTEND(readability-identifier-naming)

  CountingIterator(const char* at, LineCounter* counter) : at_(at), counter_(counter) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    counter_->count(*at_++);
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  LineCounter* counter_;
};

/// Builds the tree from the parser's events. Returns true from each: errors are thrown.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const std::string& file, const LineCounter& counter)
      : file_(std::make_shared<std::string>(file)), counter_(counter) {}

  JsonNode take_root() { return std::move(root_); }

  bool null() override { return add(JsonNode()); }
  bool boolean(bool value) override { return add(JsonNode::boolean(value)); }
  bool number_integer(number_integer_t value) override {
    return add(JsonNode::number(std::to_string(value)));
  }
  bool number_unsigned(number_unsigned_t value) override { return add(JsonNode::number(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return add(JsonNode::number(text));
  }
  bool string(string_t& value) override { return add(JsonNode::string(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }  // never in text
  bool start_object(std::size_t /*size*/) override { return open(JsonNode::object()); }
  bool start_array(std::size_t /*size*/) override { return open(JsonNode::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = open_.back();
    const auto [known, is_new] = level.key_lines.emplace(name, counter_.token_line);
    if (!is_new) {
      throw error("duplicate key (first on line " + std::to_string(known->second) + ")",
                  join_path(path(), name));
    }
    level.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& e) override {
    throw error("not valid JSON: " + reason(e.what()), "");
  }

 private:
  struct Level {
    JsonNode node;
    std::string key;  ///< of the member being read
    std::map<std::string, int> key_lines;
  };

  static std::string reason(std::string text) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
    const std::size_t column = text.find("column ");
    const std::size_t id_end = text.find("] ");
    if (column != std::string::npos)
      text.erase(0, column);
    else if (id_end != std::string::npos)
      text.erase(0, id_end + 2);
    constexpr std::size_t kLongest = 200;
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
    // The quoted token may be broken UTF-8, which is just what is wrong with it.
    for (char& c : text)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    return text;
  }

  ConfigError error(std::string what, std::string path) const {
    ConfigError::Detail detail;
    detail.file = *file_;
    detail.line = counter_.token_line;
    detail.path = std::move(path);
    detail.found = std::move(what);
    return ConfigError(std::move(detail));
  }

  std::string path() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Level& level = open_[i];
      path = join_path(
          path, level.node.is_array() ? std::to_string(level.node.children().size()) : level.key);
    }
    return path;
  }

  bool open(JsonNode node) {
    if (open_.size() == kMaxJsonDepth)
      throw error("nested deeper than " + std::to_string(kMaxJsonDepth) + " levels", "");
    node.set_place(file_, counter_.token_line);
    open_.push_back({std::move(node), {}, {}});
    return true;
  }

  bool close() {
    JsonNode node = std::move(open_.back().node);
    open_.pop_back();
    attach(std::move(node));
    return true;
  }

  bool add(JsonNode node) {
    node.set_place(file_, counter_.token_line);
    attach(std::move(node));
    return true;
  }

  void attach(JsonNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& parent = open_.back();
    if (parent.node.is_array()) {
      parent.node.append(std::move(node));
      return;
    }
    if (parent.key == "$comment" || (open_.size() == 1 && parent.key == "$schema")) return;
    node.rename(std::move(parent.key));
    parent.node.children().push_back(std::move(node));  // no duplicates: checked by key()
  }

  std::shared_ptr<const std::string> file_;
  const LineCounter& counter_;
  std::vector<Level> open_;
  JsonNode root_;
};

ConfigError unreadable(const std::string& file, const std::string& why) {
  ConfigError::Detail detail;
  detail.file = file;
  detail.found = "cannot be read: " + why;
  return ConfigError(std::move(detail));
}

}  // namespace

std::string JsonNode::found_text() const {
  switch (type_) {
    case Type::kString:
      return in_quotes(text_);
    case Type::kArray:
      return "a list";
    case Type::kObject:
      return "an object";
    case Type::kNull:
    case Type::kBool:
    case Type::kNumber:
      break;
  }
  constexpr std::size_t kLongest = 40;
  return text_.size() <= kLongest ? text_ : text_.substr(0, kLongest) + "...";
}

const JsonNode* JsonNode::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const auto it = std::find_if(children_.begin(), children_.end(),
                               [&](const JsonNode& child) { return child.key_ == key; });
  return it == children_.end() ? nullptr : &*it;
}

JsonNode* JsonNode::find(std::string_view key) {
  return const_cast<JsonNode*>(static_cast<const JsonNode*>(this)->find(key));
}

JsonNode& JsonNode::set(std::string key, JsonNode value) {
  value.key_ = std::move(key);
  if (JsonNode* old = find(value.key_)) return *old = std::move(value);
  return children_.emplace_back(std::move(value));
}

JsonNode& JsonNode::append(JsonNode value) {
  value.key_.clear();
  return children_.emplace_back(std::move(value));
}

void JsonNode::erase(std::string_view key) {
  children_.erase(std::remove_if(children_.begin(), children_.end(),
                                 [&](const JsonNode& child) { return child.key_ == key; }),
                  children_.end());
}

void JsonNode::set_place(std::shared_ptr<const std::string> file, int line) {
  file_ = std::move(file);
  line_ = line;
}

JsonNode parse_json(std::string_view text, const std::string& file) {
  LineCounter counter;
  TreeBuilder builder(file, counter);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &counter),
                            CountingIterator(text.data() + text.size(), &counter), &builder);
  return builder.take_root();
}

JsonNode read_json_file(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) throw unreadable(file, "it is a directory");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw unreadable(file, std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw unreadable(file, std::strerror(errno));
  return parse_json(text.str(), file);
}

ConfigError error_at(const JsonNode& node, std::string path, std::string expected,
                     std::string found) {
  ConfigError::Detail detail;
  detail.file = node.file();
  detail.line = node.line();
  detail.path = std::move(path);
  detail.expected = std::move(expected);
  detail.found = std::move(found);
  return ConfigError(std::move(detail));
}

void merge_patch(JsonNode& target, const JsonNode& patch) {
  if (!patch.is_object()) {
    std::string key = target.key();
    target = patch;
    target.rename(std::move(key));
    return;
  }
  if (!target.is_object()) {
    std::string key = target.key();
    target = JsonNode::object();
    target.set_place(patch);
    target.rename(std::move(key));
  }
  for (const JsonNode& member : patch.children()) {
    if (member.is_null()) {
      target.erase(member.key());
      continue;
    }
    JsonNode* old = target.find(member.key());
    merge_patch(old != nullptr ? *old : target.set(member.key(), JsonNode()), member);
  }
}

std::string join_path(const std::string& path, std::string_view key) {
  if (key.empty()) key = "\"\"";
  return path.empty() ? std::string(key) : path + '.' + std::string(key);
}

nlohmann::ordered_json to_nlohmann(const JsonNode& node) {
  switch (node.type()) {
    case JsonNode::Type::kNull:
      return nullptr;
    case JsonNode::Type::kBool:
      return node.text() == "true";
    case JsonNode::Type::kNumber:
      return nlohmann::ordered_json::parse(node.text());
    case JsonNode::Type::kString:
      return node.text();
    case JsonNode::Type::kArray: {
      auto list = nlohmann::ordered_json::array();
      for (const JsonNode& element : node.children()) list.push_back(to_nlohmann(element));
      return list;
    }
    case JsonNode::Type::kObject:
      break;
  }
  auto object = nlohmann::ordered_json::object();
  for (const JsonNode& member : node.children()) object[member.key()] = to_nlohmann(member);
  return object;
}

}  // namespace rnicsim
