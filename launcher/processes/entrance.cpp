#include "launcher/processes/entrance.hpp"

#include "launcher/processes/local_address.hpp"

#include <system_error>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// No run is longer.
constexpr unsigned days_of_a_certificate = 30;

Result<std::string> listen_address(const ClusterJob& cluster) {
  if (!cluster.listen.empty()) {
    return cluster.listen;
  }
  if (cluster.launch != "ssh") {
    return std::string("127.0.0.1:0");
  }
  TROUPE_ASSIGN_OR_RETURN(const auto address, local_address_towards(cluster.named.at(0).address));
  return address + ":0";
}

Result<net::Token> shared_token(const fs::path& file) {
  std::error_code error;
  if (fs::exists(file, error)) {
    return net::Token::read(file);
  }
  TROUPE_ASSIGN_OR_RETURN(auto token, net::Token::random());
  TROUPE_RETURN_IF_ERROR(token.write(file));
  return token;
}

Result<net::TlsPem> shared_certificate(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) {
    return net::read_tls(net::tls_files_in(folder));
  }
  fs::create_directories(folder, error);
  TROUPE_ASSIGN_OR_RETURN(auto pem, net::make_job_certificate(days_of_a_certificate));
  TROUPE_RETURN_IF_ERROR(net::write_tls(pem, folder));
  return pem;
}

}  // namespace

Result<Entrance> make_entrance(const Job& job) {
  const auto& cluster = job.cluster;
  const bool shared = cluster.launch == "manual";
  Entrance entrance;
  TROUPE_ASSIGN_OR_RETURN(entrance.listen, listen_address(cluster));
  if (shared) {
    entrance.token_file =
        cluster.token_file.empty() ? job.output / "token" : fs::path(cluster.token_file);
    TROUPE_ASSIGN_OR_RETURN(entrance.secrets.token, shared_token(entrance.token_file));
  } else {
    TROUPE_ASSIGN_OR_RETURN(entrance.secrets.token, net::Token::random());
  }
  if (!cluster.tls) {
    return entrance;
  }
  if (shared) {
    entrance.tls_folder = job.output / "tls";
    TROUPE_ASSIGN_OR_RETURN(entrance.secrets.tls, shared_certificate(entrance.tls_folder));
  } else {
    TROUPE_ASSIGN_OR_RETURN(entrance.secrets.tls, net::make_job_certificate(days_of_a_certificate));
  }
  return entrance;
}

}  // namespace troupe
