#pragma once
/// \file job_file.hpp
/// Reads a job file: strict JSON with comments, every key known but `$schema`, every value checked, all problems
/// at once.
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/json_places.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// One thing wrong with a job file.
struct JobProblem {
  std::string pointer;  ///< JSON pointer, e.g. "/sample/fanout"
  std::string expected;
  std::string found;
  std::string hint;        ///< e.g. "did you mean \"batch_size\"?"; may be empty
  bool about_key = false;  ///< The key is wrong, not its value
  TextPlace place = {};    ///< In the job file; that of `--set` and of missing keys is unknown
};

/// The problems as text, a line each: `line 3, column 7: POINTER: expected …, found …; HINT`,
/// without the place where it is unknown.
std::string to_string(std::span<const JobProblem> problems);

struct JobReading {
  Job job;                           ///< meaningful only without problems
  std::vector<JobProblem> problems;  ///< in the order of the file's schema
};

/// Parses `text`.
/// \param base_dir  folder that relative paths in the job are meant from
/// \param overrides  "a.b=value" each (from --set); the value is JSON, or a string where it does
///   not parse
/// \errors invalid_argument: not JSON at all, with line and column
Result<JobReading> parse_job(const std::string& text, const std::filesystem::path& base_dir,
                             std::span<const std::string> overrides);

/// Reads the file, then parse_job with its folder; also checks that the dataset is a folder. The
/// output defaults to "runs/NAME" for NAME.json ("runs/job" in parse_job).
/// \errors also not_found
Result<JobReading> read_job(const std::filesystem::path& file,
                            std::span<const std::string> overrides);

/// The same of a job that a program has made: relative paths are meant from the current folder, the output
/// defaults to "runs/job", and problems have no place.
/// \errors invalid_argument: not JSON at all
Result<JobReading> read_job_text(const std::string& text, std::span<const std::string> overrides);

/// Gives the job another output folder, also in `Job::json`.
/// \requires the job was read without problems
void move_output(Job& job, const std::filesystem::path& output);
/// The same for `cluster.device`.
void set_device(Job& job, const DeviceChoice& device);

/// Trainer of the batches: the job's model, the user program, or none where a trained model predicts.
enum class JobTrainer : std::uint8_t { built_in, own, none };

/// Checks what needs the graph: parts <= nodes, edge types of the fanout are there, a split of that
/// name if there are splits. Of `built_in` also: split with training seeds, features, labels, loss
/// fits the labels, metric fits the classes, the model can do with the graph's types. Of `none` the
/// same, except that seeds to train may be 0 and labels may be missing.
std::vector<JobProblem> check_against_graph(const Job& job, const GraphInfo& graph,
                                            JobTrainer trainer = JobTrainer::built_in);

/// Fills in the types that the model sees, and the columns of its input and output: of the features; one per class, one for
/// binary logits of two classes, or one per label of multi-label targets.
/// \requires check_against_graph() found nothing (else they may be 0)
void fit_to_graph(Job& job, const GraphInfo& graph);

/// One row of the job file's reference, from the same table that the reader works by.
struct JobKey {
  std::string pointer;        ///< "/sample/batch_size"
  std::string type;           ///< "integer", "number", "string", "boolean", "list of integers", …
  std::string default_value;  ///< JSON, or "required"
  std::string range;          ///< "1..65536", "\"new\" | \"all\"", …
  std::string meaning;
};
std::vector<JobKey> job_keys();

}  // namespace troupe
