#pragma once
/// \file host_copy.hpp
/// Brings what a run needs to hosts that are reached by ssh: the program, the job file, and of the partitioned store what the
/// host reads. Everything has the same path there as here, but for the program, which lies where the job says.
#include "launcher/prepare_store.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// What a run consists of besides its job.
struct CopySources {
  std::filesystem::path program;   ///< `troupe` here
  std::filesystem::path job_file;  ///< as given
  std::string own_program;         ///< of the user's, as given after `--`; empty: none
};

/// A file that lies elsewhere there than here.
struct PlacedFile {
  std::filesystem::path from;  ///< here
  std::string to;              ///< there; absolute, or relative to the login's folder
};

/// What a host is to have.
struct HostCopyPlan {
  std::string program;             ///< where `troupe` lies there
  std::string folder;              ///< working folder there; empty: the login's
  std::vector<PlacedFile> placed;  ///< `troupe`, then the user's program, if any
  std::vector<std::string> files;  ///< absolute paths, the same here and there; the job's first
  std::vector<std::string> descriptions;  ///< the store's; copied last: without them it is none
};

/// \errors invalid_argument: the program's place there is only a name; not_found: a file here
Result<HostCopyPlan> plan_host_copy(const Job& job, const PartitionedStore& store,
                                    const Layout& layout, HostId host, const CopySources& sources);

struct HostCopy {
  bool program = false;   ///< `troupe` was copied
  std::size_t files = 0;  ///< others that were
  std::uint64_t bytes = 0;
};
/// "up to date", or "copied 34.5 MB: the program and 11 files"
std::string to_string(const HostCopy& copy);

/// Makes all hosts of the job have what they need, by rsync over ssh; several at once. What has the same
/// content there is not sent. A line for each host is said.
/// \param stop  asked now and then
/// \errors the first host's: what could not be done, with the host and the path; cancelled
Status copy_to_hosts(const Job& job, const PartitionedStore& store, const CopySources& sources,
                     const Say& say, const std::function<bool()>& stop);

/// As the job says: nothing unless it has launch "ssh" and `cluster.ssh.copy`.
Status copy_if_asked(const Job& job, const PartitionedStore& store,
                     const std::filesystem::path& job_file, const std::string& own_program,
                     const Say& say);

}  // namespace troupe
