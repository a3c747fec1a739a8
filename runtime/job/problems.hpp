#pragma once
/// \file problems.hpp
/// Collects what is wrong with a job file, in the order of the schema, and words the parts that
/// recur.
#include "runtime/job/job_file.hpp"
#include "runtime/job/schema.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The value as JSON on one line, cut after some 60 bytes.
std::string json_text(const nlohmann::json& value);

/// What an unknown key most likely was meant to be: a key of its section, or the same name in
/// another.
std::string unknown_key_hint(const std::string& section, const std::string& key);

JobProblem bad_value_problem(const SchemaRow& row, const nlohmann::json& value);
/// The text, or the first one of a list, that the row's check_line refuses.
/// \requires fits(row.rule, value)
std::optional<JobProblem> bad_line_problem(const SchemaRow& row, const nlohmann::json& value);
JobProblem not_built_problem(const SchemaRow& row, const nlohmann::json& value);
JobProblem missing_key_problem(const SchemaRow& row);

/// Fills in where the problems stand in the job file's text, unless an override set them.
void add_places(const std::string& text, std::span<const std::string> overrides,
                std::vector<JobProblem>& problems);

class ProblemList {
 public:
  void add(JobProblem problem);
  /// Something is wrong with this key, or with a section around it.
  bool has(const std::string& pointer) const;
  /// In the order of the schema; problems of one key as they were added.
  std::vector<JobProblem> take() &&;

 private:
  std::vector<JobProblem> problems_;
};

}  // namespace troupe
