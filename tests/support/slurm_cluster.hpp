#pragma once
/// \file slurm_cluster.hpp
/// A Slurm of its own on one machine: munged, slurmctld and two slurmds, with their own ports, key, socket and folders.
/// Needs root, and the packages munge, slurmctld, slurmd and slurm-client.
#include "tests/support/process.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe::testing {

/// Lifecycle: made in the constructor; the destructor cancels all jobs and ends the daemons. They end with the test, however
///            it ends
/// Threads:   one
class SlurmCluster {
 public:
  using Words = std::vector<std::string>;

  /// Why there can be none; empty: there can.
  static std::string unavailable();
  /// \param folder  for configuration, state and logs
  explicit SlurmCluster(std::string folder);
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  /// What went wrong in the constructor; empty: nothing.
  const std::string& problem() const { return problem_; }
  /// A command of this cluster.
  Words command(const Words& words) const;
  ProcessResult run(const Words& words) const;
  /// What `scontrol show job` says under a key, e.g. "JobState"; empty: nothing.
  std::string job_value(const std::string& job, const std::string& key) const;
  /// Kills all of Slurm on a node, and what it has started there.
  void kill_node(int node);
  void start_node(int node);

 private:
  void write_configuration();
  bool wait_for(const Words& words, const std::string& output, int seconds = 20) const;
  void start(std::unique_ptr<Process>& daemon, const Words& words);
  std::vector<pid_t> step_daemons(const std::string& node) const;

  std::string folder_;
  std::string problem_;
  std::unique_ptr<Process> munged_;
  std::unique_ptr<Process> controller_;
  std::unique_ptr<Process> nodes_[2];
};

}  // namespace troupe::testing
