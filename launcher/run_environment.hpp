#pragma once
/// \file run_environment.hpp
/// How `troupe run JOB -- PROGRAM` hands the run to the program: environment variables, read by
/// run_ranks (docs/embedding.md).
#include "launcher/commands.hpp"
#include "runtime/base/result.hpp"

#include <optional>

namespace troupe {

/// Sets TROUPE_JOB (absolute path), TROUPE_SET (one KEY=VALUE per line), TROUPE_RESUME and
/// TROUPE_OVERWRITE (1 or nothing), and TROUPE_COMMAND (the command line) of this process.
/// \errors invalid_argument: an override with a line break
Status set_run_environment(const RunArguments& arguments);

/// Nothing without TROUPE_JOB and TROUPE_JOB_TEXT, which is the job itself where a program made it.
/// Without TROUPE_COMMAND the command is this process's command line.
std::optional<RunArguments> run_environment();

}  // namespace troupe
