#include "gpu/comm/emulated_group.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe::gpu {
namespace {

EmulatedCollective::Flag new_flag(bool value) {
  return std::make_shared<std::atomic<bool>>(value);
}

std::uint64_t work_done(const std::vector<std::shared_ptr<EmulatedDevice>>& devices) {
  std::uint64_t sum = 0;
  for (const auto& device : devices) {
    sum += device->schedule().ran();
  }
  return sum;
}

}  // namespace

EmulatedGroup::EmulatedGroup(std::size_t world, std::uint64_t seed)
    : members_(world), random_(seed) {}

Status EmulatedGroup::join(std::size_t rank, std::shared_ptr<EmulatedDevice> device) {
  const std::lock_guard lock(mutex_);
  if (rank >= world() || members_[rank].device) {
    return Error(Errc::invalid_argument,
                 fmt::format("emulated communicator of {} ranks: expected a rank that has not "
                             "joined, found {}",
                             world(), rank));
  }
  for (std::size_t other = 0; other < world(); ++other) {
    if (members_[other].device == device) {
      return Error(Errc::invalid_argument,
                   fmt::format("emulated communicator: expected a device for each rank, found one "
                               "of ranks {} and {}",
                               other, rank));
    }
  }
  members_[rank].device = std::move(device);
  return ok_status();
}

Status EmulatedGroup::check(std::size_t rank) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t other = 0; other < world(); ++other) {
    if (members_[other].gone) {
      return Error(other == rank ? Errc::cancelled : Errc::peer_lost,
                   fmt::format("emulated communicator: rank {} has left", other));
    }
  }
  return ok_status();
}

std::shared_ptr<EmulatedCollective> EmulatedGroup::begin(std::size_t rank, std::string_view kind,
                                                         std::size_t count, const float* from) {
  const std::lock_guard lock(mutex_);
  auto& collective = under_way_[members_[rank].launches++];
  if (!collective) {
    collective = std::make_shared<EmulatedCollective>();
    collective->kind = kind;
    collective->count = count;
    collective->from.resize(world());
    for (std::size_t i = 0; i < world() * world(); ++i) {
      const bool gone = members_[i / world()].gone;
      collective->ready.push_back(new_flag(gone));
      collective->taken.push_back(new_flag(gone));
    }
  }
  collective->differs |= collective->kind != kind || collective->count != count;
  collective->from[rank] = from;
  return collective;
}

void EmulatedGroup::read_of(std::size_t reader, std::size_t peer, const EmulatedCollective& of,
                            const Read& read) {
  const std::lock_guard lock(mutex_);  // whose memory is read cannot go meanwhile
  members_[reader].misses |= members_[peer].gone;
  if (!members_[reader].gone && !members_[peer].gone) {
    read(peer, of.from[peer]);
  }
}

void EmulatedGroup::launch(EmulatedStream& on, std::size_t rank,
                           const std::shared_ptr<EmulatedCollective>& collective,
                           const Read& read) {
  const auto self = shared_from_this();  // which the work in streams may outlive
  const auto tell = [&](const std::vector<EmulatedCollective::Flag>& all) {
    std::vector<EmulatedCollective::Flag> flags;
    for (std::size_t other = 0; other < world(); ++other) {
      flags.push_back(all[at(other, rank)]);
    }
    on.launch([self, rank, collective, flags = std::move(flags)] {
      const std::lock_guard lock(self->mutex_);
      if (!collective->differs && !self->members_[rank].gone) {
        for (const auto& flag : flags) {
          *flag = true;
        }
      }
    });
  };
  tell(collective->ready);
  for (std::size_t peer = 0; peer < world(); ++peer) {
    if (peer != rank) {
      on.wait_for_peer(collective->ready[at(rank, peer)]);
    }
    on.launch(
        [self, rank, peer, collective, read] { self->read_of(rank, peer, *collective, read); });
  }
  tell(collective->taken);
  for (std::size_t peer = 0; peer < world(); ++peer) {
    if (peer != rank) {
      on.wait_for_peer(collective->taken[at(rank, peer)]);
    }
  }
}

void EmulatedGroup::launched(std::size_t rank, EmulatedEvent end, Done done) {
  Devices devices;
  {
    const std::lock_guard lock(mutex_);
    if (!members_[rank].gone) {
      members_[rank].pending = {std::move(end), std::exchange(done, nullptr)};
    }
    if (std::ranges::all_of(members_,
                            [](const Member& member) { return member.pending.has_value(); })) {
      for (const Member& member : members_) {
        devices.push_back(member.device);
      }
    }
  }
  if (done) {
    done(Error(Errc::cancelled, "emulated communicator: the rank has left"));
  } else if (!devices.empty()) {
    run(devices);
  }
}

void EmulatedGroup::run(const Devices& devices) {
  std::vector<Ended> ended;
  while (!takes_ended(ended)) {
    const auto before = work_done(devices);
    for (const auto& turn : draw_turns(devices)) {
      for (std::uint64_t i = 0; i < turn.pieces && turn.device->schedule().run_one(); ++i) {
      }
    }
    // Other threads run some of it, too.
    if (work_done(devices) == before) {
      lock_up();
      break;
    }
  }
  for (Ended& one : ended) {
    one.done(one.status);
  }
}

/// Devices in any order, some of which get far ahead of others.
std::vector<EmulatedGroup::Turn> EmulatedGroup::draw_turns(const Devices& devices) {
  constexpr std::uint64_t longest = 64;
  const std::lock_guard lock(mutex_);
  std::vector<Turn> turns;
  for (const auto& device : devices) {
    turns.push_back({device, 1 + random_() % (random_() % longest + 1)});
  }
  std::ranges::shuffle(turns, random_);
  return turns;
}

/// Takes the ends that have come. \returns nobody waits for one any longer
bool EmulatedGroup::takes_ended(std::vector<Ended>& ended) {
  const std::lock_guard lock(mutex_);
  bool all = true;
  for (Member& member : members_) {
    if (!member.pending) {
      continue;
    }
    if (!*member.pending->end) {
      all = false;
      continue;
    }
    Ended one{std::move(member.pending->done)};
    if (std::exchange(member.misses, false)) {
      one.status = Error(Errc::peer_lost, "emulated communicator: a rank has left");
    }
    ended.push_back(std::move(one));
    member.pending.reset();
  }
  if (all && std::ranges::none_of(members_, [](const Member& member) { return member.gone; })) {
    under_way_.clear();
  }
  return all;
}

/// A GPU would wait without an end. Ranks that wait for one that has left are aborted by the run.
void EmulatedGroup::lock_up() {
  std::vector<std::size_t> locked;
  std::string what;
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::any_of(members_, [](const Member& member) { return member.gone; })) {
      return;
    }
    for (std::size_t rank = 0; rank < world(); ++rank) {
      if (members_[rank].pending) {
        locked.push_back(rank);
      }
    }
    const auto other =
        std::ranges::find_if(under_way_, [](const auto& entry) { return entry.second->differs; });
    what = other == under_way_.end()
               ? std::string("operations wait for each other")
               : fmt::format(
                     "expected the same operation from all ranks, found another than {} of "
                     "{} numbers",
                     other->second->kind, other->second->count);
  }
  for (const auto rank : locked) {
    abort(rank, Error(Errc::internal, fmt::format("emulated communicator: locked up: {}", what)));
  }
}

void EmulatedGroup::abort(std::size_t rank, const Error& why) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    Member& member = members_[rank];
    member.gone = true;
    for (const auto& [number, collective] : under_way_) {
      for (std::size_t peer = 0; peer < world(); ++peer) {
        *collective->ready[at(rank, peer)] = true;
        *collective->taken[at(rank, peer)] = true;
      }
    }
    if (member.pending) {
      done = std::move(member.pending->done);
      member.pending.reset();
    }
  }
  if (done) {
    done(why);
  }
}

}  // namespace troupe::gpu
