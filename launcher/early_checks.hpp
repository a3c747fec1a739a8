#pragma once
/// \file early_checks.hpp
/// Checks that cost little, made before data are imported and partitioned.
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_file.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace troupe {

/// \param what  option or key that names the file
/// \errors not_found: no such file; failed_precondition: it cannot be read
Status check_readable(std::string_view what, const std::filesystem::path& file);

/// Checks the files that the job's keys name and a run reads late: that of `partition.file` while the
/// data are not partitioned, and for the built-in trainer those of `eval.negatives` and `eval.candidates`.
/// \errors those of check_readable(), with the key
Status check_named_files(const Job& job, JobTrainer trainer);

/// A user program that this host starts, or copies to others.
/// \param program  looked for in PATH without a slash
/// \errors not_found; failed_precondition: it is not executable
Status check_program(const Job& job, const std::string& program);

/// Names of hosts with launch "ssh": known to this host, or to ssh by its configuration.
/// \errors not_found, with all names that are unknown
Status check_host_names(const ClusterJob& cluster);

}  // namespace troupe
