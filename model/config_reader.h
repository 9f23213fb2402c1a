// SPDX-License-Identifier: MIT
// Configuration: a struct says once what its fields are; reading, schema, dump and documentation
// come from that.
//
//   struct LinkConfig {
//     BitRate rate = BitRate::gbps(100);  // the default is the member's initial value
//     Replacement replacement = Replacement::kLru;
//     void describe(Fields& f) {
//       f.field("rate", rate, range(BitRate(1'000'000), BitRate::gbps(1600)), "data rate");
//       f.choice("replacement", replacement, {{"lru", Replacement::kLru}, ...}, "policy");
//       f.object("tlb", tlb, "nested struct with its own describe()");
//       f.list("queues", queues, ListLimits{1, 8}, "vector of scalars or of such structs");
//       f.optional("limit", limit, "a std::optional of a scalar or of such a struct");
//       f.required().identifier("name", name, "must be given");
//       f.check(entries % ways == 0, "entries", "must be a multiple of ways");
//     }
//   };
//
// Scalars: bool, unsigned integers of 8 to 64 bits, double, std::string, and Time, Bytes, BitRate,
// Frequency, Length, Cycles, which files write as strings with a unit. describe() must call the
// same fields whatever the values are.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/config_error.h"
#include "model/config_scalar.h"
#include "model/units.h"

namespace rnicsim {

class Fields;
class JsonNode;

/// Any struct with `void describe(Fields&)`.
class ConfigRef {
 public:
  template <class T, class = decltype(std::declval<T&>().describe(std::declval<Fields&>()))>
  ConfigRef(T& config)  // NOLINT(google-explicit-constructor): stands for the struct in calls
      : config_(&config), describe_([](void* p, Fields& f) { static_cast<T*>(p)->describe(f); }) {}
  void describe(Fields& fields) const { describe_(config_, fields); }

 private:
  void* config_;
  void (*describe_)(void*, Fields&);
};

using ElementRef = std::variant<ScalarRef, ConfigRef>;

/// A vector or an optional without its type.
class ContainerRef {
 public:
  virtual ~ContainerRef() = default;
  virtual std::size_t size() const = 0;
  virtual void resize(std::size_t size) = 0;  ///< new elements hold their defaults
  virtual ElementRef at(std::size_t i) = 0;
  virtual ElementRef sample() = 0;  ///< an element with its defaults, whatever the size
};

struct ListLimits {
  std::size_t min = 0;
  std::size_t max = std::size_t{1} << 20;
  const char* single = nullptr;  ///< key under which one element may stand without a list
};

/// A value that is kept as the file wrote it, for a reader of its own.
using AnyJson = std::shared_ptr<const JsonNode>;

struct FieldInfo {
  const char* name;
  const char* doc;
  bool required;
  ScalarLimits limits;
};

/// Where describe() sends its fields. Derived classes read, dump, ...
class Fields {
 public:
  virtual ~Fields() = default;

  /// The next field must be given.
  Fields& required() {
    required_ = true;
    return *this;
  }

  template <class T>
  void field(const char* name, T& value, const char* doc) {
    on_scalar(info(name, doc), &value);
  }
  template <class T, class L>
  void field(const char* name, T& value, const Limits<L>& limits, const char* doc) {
    on_scalar(info(name, doc, limits_for<T>(limits)), &value);
  }
  /// A string that can stand in paths and file names.
  void identifier(const char* name, std::string& value, const char* doc);
  void optional_identifier(const char* name, std::optional<std::string>& value, const char* doc);

  template <class E>
  struct Choice {
    const char* text;
    E value;
  };
  template <class E>
  void choice(const char* name, E& value, std::initializer_list<Choice<E>> choices,
              const char* doc) {
    std::vector<std::string> texts;
    std::size_t index = 0;
    for (const auto& choice : choices) {
      if (choice.value == value) index = texts.size();
      texts.emplace_back(choice.text);
    }
    on_choice(info(name, doc), texts, index);
    value = (choices.begin() + index)->value;
  }

  template <class T>
  void object(const char* name, T& config, const char* doc) {
    on_object(info(name, doc), config);
  }

  template <class T>
  void list(const char* name, std::vector<T>& values, const char* doc) {
    list(name, values, ListLimits{}, doc);
  }
  template <class T>
  void list(const char* name, std::vector<T>& values, ListLimits limits, const char* doc) {
    VectorRef<T> container(values);
    on_list(info(name, doc), limits, container);
  }

  template <class T>
  void optional(const char* name, std::optional<T>& value, const char* doc) {
    OptionalRef<T> container(value);
    on_optional(info(name, doc), container);
  }
  template <class T, class L>
  void optional(const char* name, std::optional<T>& value, const Limits<L>& limits,
                const char* doc) {
    OptionalRef<T> container(value);
    on_optional(info(name, doc, limits_for<T>(limits)), container);
  }

  /// Anything; `types` are the JSON Schema types allowed ("boolean", "number", "string", ...).
  void any(const char* name, AnyJson& value, const std::vector<std::string>& types,
           const char* doc) {
    on_any(info(name, doc), types, value);
  }

  /// A condition between fields that were described before; placed at `name`. Only reading checks.
  void check(bool holds, const char* name, const std::string& problem) {
    if (!holds) on_violation(name, problem);
  }

 protected:
  virtual void on_scalar(const FieldInfo& info, ScalarRef value) = 0;
  virtual void on_choice(const FieldInfo& info, const std::vector<std::string>& texts,
                         std::size_t& index) = 0;
  virtual void on_object(const FieldInfo& info, ConfigRef config) = 0;
  virtual void on_list(const FieldInfo& info, const ListLimits& limits, ContainerRef& values) = 0;
  virtual void on_optional(const FieldInfo& info, ContainerRef& value) = 0;
  virtual void on_any(const FieldInfo& info, const std::vector<std::string>& types,
                      AnyJson& value) = 0;
  virtual void on_violation(const char* name, const std::string& problem) = 0;

 private:
  template <class T, class = void>
  struct IsConfig : std::false_type {};
  template <class T>
  struct IsConfig<T, std::void_t<decltype(std::declval<T&>().describe(std::declval<Fields&>()))>>
      : std::true_type {};

  template <class T>
  static ElementRef element(T& value) {
    if constexpr (IsConfig<T>::value)
      return ConfigRef(value);
    else
      return ScalarRef(&value);
  }

  template <class T>
  class VectorRef final : public ContainerRef {
   public:
    explicit VectorRef(std::vector<T>& values) : values_(values) {}
    std::size_t size() const override { return values_.size(); }
    void resize(std::size_t size) override { values_ = std::vector<T>(size); }
    ElementRef at(std::size_t i) override { return element(values_[i]); }
    ElementRef sample() override { return element(sample_); }

   private:
    std::vector<T>& values_;
    T sample_{};
  };

  template <class T>
  class OptionalRef final : public ContainerRef {
   public:
    explicit OptionalRef(std::optional<T>& value) : value_(value) {}
    std::size_t size() const override { return value_.has_value() ? 1 : 0; }
    void resize(std::size_t size) override {
      if (size == 0)
        value_.reset();
      else if (!value_)
        value_.emplace();
    }
    ElementRef at(std::size_t /*i*/) override { return element(*value_); }
    ElementRef sample() override { return element(sample_); }

   private:
    std::optional<T>& value_;
    T sample_{};
  };

  FieldInfo info(const char* name, const char* doc, ScalarLimits limits = {}) {
    return {name, doc, std::exchange(required_, false), std::move(limits)};
  }

  bool required_ = false;
};

/// Reads an object into a struct, strictly: unknown keys, wrong types, missing units, values beyond
/// their limits, missing required fields and violated checks throw ConfigError. What the file does
/// not name keeps its value; a list that it names is replaced. `path` is where the object stands.
void read_config(const JsonNode& node, ConfigRef config, const std::string& path = {});

}  // namespace rnicsim
