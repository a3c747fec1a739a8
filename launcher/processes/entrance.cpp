#include "launcher/processes/entrance.hpp"

#include "launcher/processes/ssh_names.hpp"
#include "runtime/job/link_encryption.hpp"
#include "runtime/run/output_folder.hpp"

#include <fmt/format.h>
#include <system_error>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// No run is longer.
constexpr unsigned days_of_a_certificate = 30;
/// That one of an earlier run must still be good for.
constexpr unsigned hours_left = 24;

Result<std::string> listen_address(const ClusterJob& cluster) {
  if (!cluster.listen.empty()) {
    return cluster.listen;
  }
  if (cluster.launch != "ssh") {
    return std::string("127.0.0.1:0");
  }
  TROUPE_ASSIGN_OR_RETURN(const auto address, address_towards_hosts(cluster));
  return address + ":0";
}

Result<Secrets> new_secrets(LinkEncryption encryption) {
  Secrets secrets;
  TROUPE_ASSIGN_OR_RETURN(secrets.token, net::Token::random());
  if (encryption != LinkEncryption::none) {
    TROUPE_ASSIGN_OR_RETURN(secrets.tls, net::make_job_certificate(days_of_a_certificate));
    secrets.tls_inside = encryption == LinkEncryption::all;
  }
  return secrets;
}

/// Those in `file`, which may be of an earlier run: hosts may have copies of it.
Result<Secrets> shared_secrets(const fs::path& file, LinkEncryption encryption) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    TROUPE_ASSIGN_OR_RETURN(auto secrets, new_secrets(encryption));
    const auto written = write_secrets(secrets, file);
    if (written || !fs::exists(file, error)) {
      return written ? Result<Secrets>(std::move(secrets)) : Result<Secrets>(written.error());
    }  // else another run has made it meanwhile
  }
  TROUPE_ASSIGN_OR_RETURN(auto secrets, read_secrets(file));
  const bool wanted = encryption != LinkEncryption::none;
  if (secrets.tls.has_value() != wanted ||
      (wanted && secrets.tls_inside != (encryption == LinkEncryption::all))) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: it was made for another value of cluster.tls, or by hand; try: "
                             "remove it, and copy the new one to the hosts",
                             file.string()));
  }
  if (wanted) {
    if (const auto valid = net::check_valid_for(*secrets.tls, hours_left); !valid) {
      return Error(valid.error()).with(file.string());
    }
  }
  return secrets;
}

}  // namespace

Result<Entrance> make_entrance(const Job& job) {
  const auto& cluster = job.cluster;
  const auto encryption = link_encryption(cluster);
  Entrance entrance;
  TROUPE_ASSIGN_OR_RETURN(entrance.listen, listen_address(cluster));
  if (cluster.launch == "manual") {
    entrance.token_file = cluster.token_file.empty()
                              ? shared_folder(job.output, job.default_output) / "token"
                              : fs::path(cluster.token_file);
    TROUPE_ASSIGN_OR_RETURN(entrance.secrets, shared_secrets(entrance.token_file, encryption));
  } else {
    TROUPE_ASSIGN_OR_RETURN(entrance.secrets, new_secrets(encryption));
  }
  return entrance;
}

}  // namespace troupe
