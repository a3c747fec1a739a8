#include "launcher/early_checks.hpp"

#include "launcher/processes/ssh_names.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/methods.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
}

bool is_in_path(const std::string& program) {
  const char* value = std::getenv("PATH");
  std::istringstream folders(value == nullptr ? "" : value);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_executable(fs::path(folder.empty() ? "." : folder) / program)) {
      return true;
    }
  }
  return false;
}

}  // namespace

Status check_readable(std::string_view what, const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected a file, found none at {}", what, file.string()));
  }
  if (::access(file.c_str(), R_OK) != 0) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: cannot read {}: {}", what, file.string(), std::strerror(errno)));
  }
  return ok_status();
}

Status check_named_files(const Job& job, JobTrainer trainer) {
  const auto* method = find_kind(partition_methods(), job.partition.method);
  const bool cuts = store_kind(job.dataset.path) != StoreKind::partitioned;
  if (cuts && method != nullptr && reads_option(*method, "file")) {
    TROUPE_RETURN_IF_ERROR(check_readable("/partition/file", job.partition.more.file));
  }
  if (trainer == JobTrainer::own) {
    return ok_status();
  }
  for (const auto& [key, files] : {std::pair("negatives", &job.eval.negative_files),
                                   std::pair("candidates", &job.eval.candidate_files)}) {
    for (const auto& [role, of_role] : *files) {
      for (const auto& file : of_role) {
        TROUPE_RETURN_IF_ERROR(check_readable(fmt::format("/eval/{}/{}", key, role), file));
      }
    }
  }
  return ok_status();
}

Status check_program(const Job& job, const std::string& program) {
  const auto& cluster = job.cluster;
  const bool starts_here = cluster.launch == "simulate" || cluster.launch == "local" ||
                           (cluster.launch == "ssh" && cluster.ssh.copy);
  const bool has_slash = program.find('/') != std::string::npos;
  if (!starts_here || (has_slash ? is_executable(program) : is_in_path(program))) {
    return ok_status();
  }
  std::error_code error;
  if (has_slash && fs::exists(program, error)) {
    return Error(Errc::failed_precondition,
                 fmt::format("cannot start {}: expected an executable file; try: chmod +x {}",
                             program, program));
  }
  return Error(
      Errc::not_found,
      has_slash
          ? fmt::format("cannot start {}: No such file; try: its whole path", program)
          : fmt::format("cannot start {}: No such file in PATH; try: ./{} if it is in this folder, "
                        "or its whole path",
                        program, program));
}

Status check_host_names(const ClusterJob& cluster) {
  if (cluster.launch != "ssh") {
    return ok_status();
  }
  std::vector<std::string> unknown;
  std::vector<std::string> without_address;
  for (const auto& host : cluster.named) {
    const auto found = find_ssh_name(cluster.ssh, host.address);
    if (!found.known) {
      unknown.push_back(host.address);
    } else if (found.address.empty() && host.listen.empty()) {
      without_address.push_back(host.address);
    }
  }
  if (!unknown.empty()) {
    return Error(
        Errc::not_found,
        fmt::format("/cluster/hosts: expected names that this host or ssh can resolve, found "
                    "{}; try: addresses, or a name that `getent hosts NAME` finds",
                    fmt::join(unknown, ", ")));
  }
  if (!without_address.empty()) {
    return Error(
        Errc::not_found,
        fmt::format("/cluster/hosts: expected listen=ADDRESS on the line of a host that ssh alone "
                    "can resolve, found none for {}; try: the address at which the other hosts "
                    "reach it",
                    fmt::join(without_address, ", ")));
  }
  if (cluster.listen.empty()) {
    TROUPE_RETURN_IF_ERROR(address_towards_hosts(cluster));
  }
  return ok_status();
}

}  // namespace troupe
