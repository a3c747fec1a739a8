#pragma once
/// \file entrance.hpp
/// Where processes come in to a run, and with which secrets.
#include "launcher/processes/secrets.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"

#include <filesystem>
#include <string>

namespace troupe {

struct Entrance {
  std::string listen;  ///< of the director's process
  Secrets secrets;
  /// With `manual`, where others get copies from.
  std::filesystem::path token_file;
  std::filesystem::path tls_folder;  ///< empty: no TLS
};

/// Makes the secrets of a run, but for a token that `cluster.token_file` has. With `manual` they are
/// written where the others can be given copies.
/// \errors those of net::Token, of net::write_tls and of local_address_towards
Result<Entrance> make_entrance(const Job& job);

}  // namespace troupe
