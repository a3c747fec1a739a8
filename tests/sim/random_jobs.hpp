#pragma once
/// \file random_jobs.hpp
/// Jobs of random settings on small graphs, each in random layouts that its results must not show: combinations that no
/// table names.
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/sim/random_settings.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::testing {

/// A job that may run, with its data.
struct PreparedJob {
  Job job;
  PartitionedStore store;
};

/// \param text  of the job file
/// \returns nothing: the settings do not go together
std::optional<PreparedJob> prepared(const std::string& text, const Settings& settings,
                                    JobTrainer trainer = JobTrainer::built_in);

Settings together(const Settings& job, const Settings& layout);

/// Expects the error of settings that do not go together, or of a rank whose own parts have no candidates.
void expect_refused(const Error& why, const Job& job);

class RandomJobs {
 public:
  enum class Outcome : std::uint8_t {
    refused,  ///< its settings do not go together
    same,
    differs
  };

  /// What the settings of a number have in common.
  struct Picked {
    std::string text;  ///< of the job file
    Settings job;
    std::uint32_t ranks = 1;
    /// Set: batches depend on hosts and parts, so all layouts have these.
    std::optional<Settings> place = std::nullopt;
    Settings alone;  ///< all in one process, in one part, or in `place`
    Settings spread;
    Settings on_devices;
    Settings elsewhere;  ///< samplers are in other processes, where batches do not depend on that
  };
  /// \param drawn  of the number; what is drawn from it afterwards is the same in every build, too
  Picked pick(Drawn& drawn) const;
  /// Another layout of the same job.
  static Settings layout_of(const Picked& picked, Drawn& drawn);
  /// A setting of holders of each part: one where batches depend on parts that hosts have.
  static std::string replicas_of(const Picked& picked, Drawn& drawn);
  /// A setting of when the state is written.
  static std::string checkpoints_of(Drawn& drawn);

  /// Makes the graphs.
  RandomJobs();

  /// Runs the job of a number in one process, then elsewhere: other parts and hosts, emulated devices, other processes
  /// that sample, where actors are lost, and from a checkpoint of yet another layout. Each number has the same settings and
  /// losses in every build.
  /// \returns how it ended; \p why says what differed, with the settings
  Outcome run(std::uint32_t number, std::string& why) const;
  /// The same of a program of a user's own, which takes the batches of the job of a number, learns rows, adds to a
  /// tensor and to sums of all ranks. One actor is lost.
  Outcome run_program(std::uint32_t number, std::string& why) const;

 private:
  const ScratchFolder scratch_;
  FilesOfJobs files_;
};

/// Runs `count` numbers from `first` on, at least half of which may not be refused.
void expect_the_same(RandomJobs::Outcome (RandomJobs::*run)(std::uint32_t, std::string&) const,
                     std::uint32_t first, std::uint32_t count);

}  // namespace troupe::testing
