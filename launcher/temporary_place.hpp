#pragma once
/// \file temporary_place.hpp
/// Names for folders that a command makes and removes again.
#include "runtime/base/result.hpp"

#include <filesystem>
#include <string_view>

namespace troupe {

/// `troupe-COMMAND-PID` in the folder that TMPDIR names, /tmp without it; for StagedDirectory::create().
/// \errors not_found: there is no such folder
Result<std::filesystem::path> temporary_place(std::string_view command);

}  // namespace troupe
