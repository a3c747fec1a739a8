#pragma once
/// \file host_list.hpp
/// Hosts as job files and host files name them, one a line:
///
///     [USER@]ADDRESS [SLOTS] [user=U] [port=P] [key=FILE] [dir=DIR] [program=FILE] [listen=HOST]
///             [threads=N] [cores=LIST] [device=DEVICE] [env=NAME=VALUE]...
#include "runtime/base/result.hpp"
#include "runtime/job/device_choice.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What is empty or 0 is as the job says for all hosts.
struct HostSpec {
  std::string address = {};  ///< for ssh: a name or an address
  std::uint32_t slots = 0;   ///< ranks
  std::string user = {};
  std::uint16_t port = 0;                   ///< of its ssh server
  std::string key = {};                     ///< file with the private key
  std::string dir = {};                     ///< working folder there
  std::string program = {};                 ///< `troupe` there
  std::string listen = {};                  ///< address that its processes listen at
  std::uint32_t threads = 0;                ///< compute threads of each of its processes
  std::vector<std::uint32_t> cores = {};    ///< that its processes may use; empty: all
  std::optional<DeviceChoice> device = {};  ///< what its ranks compute on
  std::vector<std::string> env = {};        ///< NAME=VALUE each
  friend bool operator==(const HostSpec&, const HostSpec&) = default;
};

/// What a host says itself, or else what the job says for all.
inline const std::string& own_or(const std::string& own, const std::string& all) {
  return own.empty() ? all : own;
}

/// \errors invalid_argument: what is wrong with which word
Result<HostSpec> parse_host(std::string_view line);

/// An entry of an environment, NAME=VALUE on one line, with a name that a shell takes.
/// \errors invalid_argument; the value is not in the message
Status check_environment(const std::string& entry);

/// Lines of a host file, with single spaces between the words. Empty ones do not count, nor does what follows a #
/// at the beginning of a word.
/// \errors not_found; invalid_argument, with the line's number
Result<std::vector<std::string>> read_host_file(const std::filesystem::path& file);

}  // namespace troupe
