#pragma once
/// \file schema.hpp
/// The job file's schema: one row per key. Reading, defaults, the printed job and the reference all
/// work by this table; a new key is a new row. What needs more than one key is in job_rules.hpp.
#include "runtime/base/strict_json.hpp"
#include "runtime/base/value_rule.hpp"
#include "runtime/job/job.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// Syntax and bounds of a job file.
inline constexpr JsonRules job_json_rules{
    .most_bytes = std::size_t{1} << 18, .most_levels = 32, .comments = true};

/// What holds where the key is not given.
struct Fallback {
  enum class Kind : std::uint8_t {
    value,     ///< `text` as JSON
    required,  ///< nothing: that is a problem
    absent,    ///< the feature is off
    derived,   ///< computed from other keys; `text` says how (derived_default)
  };
  Kind kind = Kind::value;
  std::string text = {};
};

/// Which values of a known key are refused so far.
struct NotBuilt {
  std::vector<std::string> words = {};
  std::string instead = {};  ///< what works
};

/// A key "*" of a pointer stands for any name: the row is one of every section of its kind.
struct SchemaRow {
  std::string pointer;
  ValueRule rule;
  Fallback fallback;
  std::string meaning;
  NotBuilt not_built = {};
  /// Puts a value that fits the rule into the job; null where nothing of it is built.
  std::function<void(const nlohmann::json& value, Job& job)> apply = nullptr;
  /// What a text, or each text of a list, must be besides; null: any.
  Status (*check_line)(const std::string& line) = nullptr;
  /// In place of `apply` where the pointer has a "*": with the name that it stands for.
  std::function<void(const nlohmann::json& value, const std::string& name, Job& job)> apply_named =
      nullptr;
};

/// All rows in the order of the file.
const std::vector<SchemaRow>& job_schema();

/// The sections: every proper prefix of a pointer, in the order of the file.
const std::vector<std::string>& job_sections();

/// Keys and sections directly inside a section ("" is the whole job); "*" for any name.
std::vector<std::string> keys_of_section(const std::string& section);

/// The pointer as rows have it: with "*" for a name of the user's.
std::string schema_pointer(const std::string& pointer);

/// Position of a key or section, or of the key that holds it, in the order of the file; one past the last row of the section it
/// would be in if unknown.
std::size_t schema_position(const std::string& pointer);

/// Whether the value is refused as not built yet.
/// \requires fits(row.rule, value)
bool is_not_built(const SchemaRow& row, const nlohmann::json& value);

}  // namespace troupe
