#pragma once
/// \file remote_host.hpp
/// Brings files to a host that is reached by ssh. Rsync does it: it writes beside a file's place and renames, so that
/// nothing there is written through.
#include "launcher/processes/piped_child.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe {

/// Files with new content.
struct SentFiles {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

/// Each call ends with failed_precondition and the words of the program that failed there; with peer_lost if the host
/// cannot be reached or the connection ends; with cancelled.
/// Threads: any, several calls at once
class RemoteHost {
 public:
  /// \param stop  asked now and then; true ends what is under way
  RemoteHost(const SshJob& ssh, HostSpec spec, std::function<bool()> stop);

  const std::string& address() const { return spec_.address; }

  /// Makes the folders that files are to lie in, if rsync is there.
  /// \param working_folder  made too; empty: none
  /// \errors failed_precondition: also a folder in a file's place
  Status make_folders(const std::string& working_folder,
                      const std::vector<std::string>& files) const;

  /// What has the same checksum there is not sent.
  /// \param to  absolute, or relative to the login's folder
  Result<SentFiles> send(const std::filesystem::path& file, const std::string& to) const;
  /// \param files  absolute paths, the same here and there
  Result<SentFiles> send(const std::vector<std::string>& files) const;
  /// Makes a folder there as it is here, at the same absolute path: what is not here is removed there, at the end. What
  /// has the same size and time of change is not sent.
  Result<SentFiles> mirror(const std::filesystem::path& folder) const;

 private:
  struct Ran {
    std::string printed;
    ChildEnd end;
  };

  std::string at(const std::string& path) const;
  Result<SentFiles> send(const std::vector<std::string>& options,
                         const std::vector<std::string>& what, const std::string& list) const;
  /// Runs a program with `input`, which it reads before it prints much. \returns what it prints
  Result<std::string> run(const std::vector<std::string>& words, std::string_view input) const;
  Result<Ran> run_once(const std::vector<std::string>& words, std::string_view input) const;

  SshJob ssh_;
  HostSpec spec_;
  std::function<bool()> stop_;
};

/// Calls `act(host)` for the hosts 0 … count-1, eight at a time on threads of their own, and `then(host, result)` here, in
/// their order.
/// \param then  returns false: no more hosts than those under way
template <class Act, class Then>
void on_hosts(std::size_t count, const Act& act, const Then& then) {
  constexpr std::size_t at_once = 8;
  bool more = true;
  for (std::size_t begin = 0; begin < count && more; begin += at_once) {
    std::vector<std::future<std::invoke_result_t<Act, std::size_t>>> ends;
    for (auto host = begin; host < count && host < begin + at_once; ++host) {
      ends.push_back(std::async(std::launch::async, act, host));
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
      more = then(begin + i, ends[i].get()) && more;
    }
  }
}

}  // namespace troupe
