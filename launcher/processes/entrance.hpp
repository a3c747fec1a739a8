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
  std::filesystem::path token_file;  ///< with `manual`, where others get copies of the secrets from
};

/// Makes the secrets of a run. With `manual` they are written where the others can be given copies, unless
/// they lie there already.
/// \errors those of secrets.hpp and of local_address_towards; failed_precondition: those that lie there do
///   not fit `cluster.tls`, or their certificate ends within a day
Result<Entrance> make_entrance(const Job& job);

}  // namespace troupe
