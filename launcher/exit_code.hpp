#pragma once
/// \file exit_code.hpp
/// Exit codes of the program `troupe`, as `troupe --help` lists them.
#include "runtime/base/result.hpp"

namespace troupe {

enum class ExitCode : int {
  done = 0,
  failed = 1,  ///< anything that the others do not name: a bug of ours, no memory
  usage = 2,   ///< command line or job file
  data = 3,    ///< data set, store or output folder
  peer = 4,    ///< a peer or process failed
  interrupted = 130,
};

/// For errors of a run under way.
inline ExitCode exit_code_of(Errc code) {
  switch (code) {
    case Errc::ok:
      return ExitCode::done;
    case Errc::invalid_argument:
    case Errc::unimplemented:
      return ExitCode::usage;
    case Errc::not_found:
    case Errc::data_corruption:
    case Errc::failed_precondition:
      return ExitCode::data;
    case Errc::peer_lost:
    case Errc::fenced:
    case Errc::unauthenticated:
    case Errc::deadline_exceeded:
    case Errc::overloaded:
      return ExitCode::peer;
    case Errc::cancelled:
      return ExitCode::interrupted;
    case Errc::out_of_memory:
    case Errc::cuda_failure:
    case Errc::internal:
      break;
  }
  return ExitCode::failed;
}

}  // namespace troupe
