#pragma once
/// \file temporary_folder.hpp
/// Folders that a command makes and removes again.
#include "runtime/base/result.hpp"
#include "runtime/base/staged_directory.hpp"

#include <string_view>

namespace troupe {

/// One for `troupe-COMMAND-PID` in the folder that TMPDIR names, /tmp without it. What killed commands
/// have left there is removed.
/// \errors not_found: there is no such folder; those of StagedDirectory::create()
Result<StagedDirectory> temporary_folder(std::string_view command);

}  // namespace troupe
