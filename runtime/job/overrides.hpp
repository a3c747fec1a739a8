#pragma once
/// \file overrides.hpp
/// Puts `--set a.b=value` into the tree of a job file.
#include "runtime/job/job_file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace troupe {

/// Sets the value at the path, making sections that are missing. The value is JSON, or a string
/// where it does not parse or where the key takes a string. Unknown keys go in as well: they are
/// reported with those of the file. \returns what is wrong with the override itself: no "=", an
/// empty key, a key inside a value that is no section
std::optional<JobProblem> apply_override(nlohmann::json& root, const std::string& override_text);

/// JSON pointer of the key that the override sets.
std::string override_pointer(const std::string& override_text);

}  // namespace troupe
