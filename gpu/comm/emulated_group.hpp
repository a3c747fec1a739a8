#pragma once
/// \file emulated_group.hpp
/// What the ranks of an emulated communicator share. It behaves as NCCL does: operations of the ranks belong
/// together by the order of their launches; they end only when all ranks have launched them; ranks that launch
/// different ones lock up; and who aborts ends alone.
#include "gpu/base/emulated_device.hpp"
#include "runtime/base/result.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace troupe::gpu {

/// One operation of all ranks.
struct EmulatedCollective {
  using Flag = std::shared_ptr<std::atomic<bool>>;

  std::string_view kind = {};
  std::size_t count = 0;
  bool differs = false;            ///< Ranks have launched different ones: it never ends
  std::vector<const float*> from;  ///< [world] what ranks give, once they have launched it
  std::vector<Flag> ready;  ///< [world, world]: that of the second may be read, for the first
  std::vector<Flag> taken;  ///< [world, world]: and the second has read all that it needs of it
};

/// Threads: any
class EmulatedGroup : public std::enable_shared_from_this<EmulatedGroup> {
 public:
  using Done = std::function<void(const Status&)>;

  /// \param seed  of the order in which devices work
  EmulatedGroup(std::size_t world, std::uint64_t seed);

  std::size_t world() const { return members_.size(); }
  /// \errors invalid_argument: no such rank, or it has joined; on a device of another rank, as NCCL refuses it
  Status join(std::size_t rank, std::shared_ptr<EmulatedDevice> device);
  /// \errors cancelled: this rank has aborted; peer_lost: another one
  Status check(std::size_t rank) const;

  /// Joins the rank's next operation.
  std::shared_ptr<EmulatedCollective> begin(std::size_t rank, std::string_view kind,
                                            std::size_t count, const float* from);
  /// Launches what `rank` reads of each rank: read(peer, its vector).
  using Read = std::function<void(std::size_t peer, const float* from)>;
  void launch(EmulatedStream& on, std::size_t rank,
              const std::shared_ptr<EmulatedCollective>& collective, const Read& read);

  /// All that the rank wants is launched before `end`; the last rank's thread then does the work of all.
  void launched(std::size_t rank, EmulatedEvent end, Done done);
  /// Ends the rank's part: work that waits for others goes on with what is there.
  void abort(std::size_t rank, const Error& why);

 private:
  struct Pending {
    EmulatedEvent end;
    Done done;
  };
  struct Member {
    std::shared_ptr<EmulatedDevice> device;  ///< null: has not joined
    std::uint64_t launches = 0;
    bool gone = false;
    bool misses = false;  ///< something of a rank that had gone
    std::optional<Pending> pending;
  };
  struct Ended {
    Done done;
    Status status = ok_status();
  };

  std::size_t at(std::size_t reader, std::size_t of) const { return reader * world() + of; }
  void read_of(std::size_t reader, std::size_t peer, const EmulatedCollective& of,
               const Read& read);
  using Devices = std::vector<std::shared_ptr<EmulatedDevice>>;
  struct Turn {
    std::shared_ptr<EmulatedDevice> device;
    std::uint64_t pieces = 1;  ///< Of work, before it is another one's turn
  };
  void run(const Devices& devices);
  std::vector<Turn> draw_turns(const Devices& devices);
  bool takes_ended(std::vector<Ended>& ended);
  void lock_up();

  mutable std::mutex mutex_;  ///< Also held while a rank reads another one's memory
  std::vector<Member> members_;
  std::map<std::uint64_t, std::shared_ptr<EmulatedCollective>> under_way_;
  std::mt19937_64 random_;
};

}  // namespace troupe::gpu
