#pragma once
/// \file progress_watch.hpp
/// Whether those whom the director has asked for something get on with it. Signs of life do not tell: an
/// actor may answer them and still do nothing. Knows no actors.
#include "runtime/base/result.hpp"
#include "runtime/wire/messages.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Lifecycle: begin() with each command to a group, answered() for each answer, heard() for each sign of
///   incarnation of a member meanwhile
/// Threads:   one at a time
class ProgressWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// \param deadline  longest time without an answer and without any change of what members have done
  /// \param longest_gap  between two calls of look(); this process was stopped in a longer one, and perhaps with it
  ///                     the members, so that its time does not count
  explicit ProgressWatch(std::chrono::milliseconds deadline,
                         TimePoint::duration longest_gap = TimePoint::duration::max())
      : deadline_(deadline), longest_gap_(longest_gap) {}

  /// \param task     what is asked for, after "to", e.g. "train an epoch"
  /// \param members  names; signs of life are given by index
  void begin(std::string task, const std::vector<std::string>& members, TimePoint now);
  void answered(std::size_t member, TimePoint now);
  void heard(std::size_t member, const net::Pong& sign, TimePoint now);
  /// Called at intervals, before overdue().
  void look(TimePoint now);
  /// The error that ends the run, if nothing has changed for as long as the deadline: it names, of those
  /// that have not answered, the one that waits for no other and has done least.
  std::optional<Error> overdue(TimePoint now) const;

 private:
  struct Member {
    std::string name;
    bool owes = true;
    std::optional<net::Pong> last;
  };
  std::chrono::milliseconds deadline_;
  TimePoint::duration longest_gap_;
  std::optional<TimePoint> looked_;
  std::string task_;
  std::vector<Member> members_;
  TimePoint changed_{};
};

}  // namespace troupe
