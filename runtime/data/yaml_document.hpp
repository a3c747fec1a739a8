#pragma once
/// \file yaml_document.hpp
/// YAML files as JSON values, so that one reader with its messages serves both.
#include "runtime/base/result.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace troupe {

/// Reads a file of at most 16 MB. Plain scalars become null, true, false or integers where they look
/// like it; all others are strings.
/// \errors invalid_argument: not YAML; nested too deep; more than 2^20 values, aliases counted as
///   often as they stand for something; not_found
Result<nlohmann::json> read_yaml_document(const std::filesystem::path& file);

}  // namespace troupe
