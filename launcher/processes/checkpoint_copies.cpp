#include "launcher/processes/checkpoint_copies.hpp"

#include "launcher/processes/local_address.hpp"

#include <cmath>
#include <fmt/format.h>
#include <set>

namespace troupe {
namespace {

/// \returns the errors, each with its host
template <class Do>
std::vector<Error> errors_of(const std::vector<RemoteHost>& hosts, const Do& act) {
  std::vector<Error> errors;
  on_hosts(
      hosts.size(), [&](std::size_t host) { return act(hosts[host]); },
      [&](std::size_t host, const Status& end) {
        if (!end) {
          errors.push_back(Error(end.error()).with(hosts[host].address()));
        }
        return true;
      });
  return errors;
}

}  // namespace

Result<std::vector<HostSpec>> hosts_of_copies(const Job& job) {
  const std::size_t wanted = job.checkpoint.copies - 1;
  std::vector<HostSpec> elsewhere;
  if (wanted == 0) {
    return elsewhere;
  }
  std::set<std::string> seen;
  for (const auto& host : job.cluster.named) {
    if (seen.insert(host.address).second && !is_own_address(host.address)) {
      elsewhere.push_back(host);
    }
  }
  if (elsewhere.size() < wanted) {
    return Error(Errc::invalid_argument,
                 fmt::format("checkpoint.copies: expected at most {}, on this host and on those of "
                             "cluster.hosts that are others, found {}",
                             elsewhere.size() + 1, wanted + 1));
  }
  elsewhere.resize(wanted);
  return elsewhere;
}

Result<CheckpointCopies> CheckpointCopies::open(const Job& job,
                                                const std::filesystem::path& folder) {
  CheckpointCopies copies(std::filesystem::absolute(folder).lexically_normal());
  TROUPE_ASSIGN_OR_RETURN(auto hosts, hosts_of_copies(job));
  auto ssh = job.cluster.ssh;  // the user's options come first, and count
  ssh.options.insert(
      ssh.options.end(),
      {"-o", fmt::format("ConnectTimeout={:.0f}", std::ceil(job.cluster.join_deadline_s))});
  for (auto& host : hosts) {
    copies.hosts_.emplace_back(ssh, std::move(host),
                               [state = copies.state_] { return state->cuts != state->expected; });
  }
  const auto errors = errors_of(copies.hosts_, [&](const RemoteHost& host) {
    return host.make_folders({}, {(copies.folder_ / "step").string()});
  });
  if (!errors.empty()) {
    return errors.front();
  }
  return copies;
}

std::vector<Error> CheckpointCopies::bring(std::uint32_t cuts) const {
  state_->expected = cuts;
  return errors_of(hosts_, [&](const RemoteHost& host) -> Status {
    TROUPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto sent, host.mirror(folder_));
    return ok_status();
  });
}

}  // namespace troupe
