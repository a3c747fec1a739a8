#pragma once
/// \file eavesdropper.hpp
/// Reads along on all network interfaces, as somebody on the way between two machines could. Needs root.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace troupe::testing {

/// Lifecycle: listens from the constructor to the destructor
class Eavesdropper {
 public:
  /// \param text   what to look for in each packet
  /// \param space  name of a network namespace (`ip netns`); empty: the one of this process
  explicit Eavesdropper(std::string text, const std::string& space = "");
  ~Eavesdropper();
  Eavesdropper(const Eavesdropper&) = delete;
  Eavesdropper& operator=(const Eavesdropper&) = delete;

  /// What went wrong in the constructor; empty: nothing.
  const std::string& problem() const { return problem_; }
  std::uint64_t packets() const { return packets_; }  ///< that passed
  std::uint64_t found() const { return found_; }      ///< with the text

 private:
  void listen();

  const std::string text_;
  std::string problem_;
  int socket_ = -1;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> packets_{0};
  std::atomic<std::uint64_t> found_{0};
  std::thread thread_;
};

}  // namespace troupe::testing
