#include "actors/holder_tables.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// A row of each of some nodes, in a piece each.
struct Pieces final : TableSource {
  std::vector<std::uint64_t> nodes{4, 5, 6};
  std::uint32_t parts() const override { return 1; }
  Status read(std::uint32_t, const Take& take) const override {
    for (const auto node : nodes) {
      CopyPiece piece;
      piece.ids = {node};
      TROUPE_RETURN_IF_ERROR(take(piece));
    }
    return ok_status();
  }
};

using OnPiece = std::function<void(const CopyPiece&)>;

/// Has nodes 4 to 6, and says at the end when it has not got rows of all.
caf::behavior fake_holder(caf::event_based_actor* /*self*/, const OnPiece& asked) {
  const auto rows = std::make_shared<std::set<std::uint64_t>>();
  return {[=](const Ref<LoadCopy>& load) -> caf::result<Ref<net::Done>> {
    asked(*load);
    rows->insert(load->ids.begin(), load->ids.end());
    if (load->last && rows->size() != 3) {
      return to_caf(Error(Errc::data_corruption, "a copy lacks rows"));
    }
    return Ref<net::Done>(net::Done{});
  }};
}

/// Dies with the first piece.
caf::behavior dying_holder(caf::event_based_actor* self, const std::function<void()>& dies) {
  return {[=](const Ref<LoadCopy>&) -> caf::result<Ref<net::Done>> {
    dies();
    self->quit(caf::exit_reason::kill);
    return self->make_response_promise<Ref<net::Done>>();
  }};
}

class LoadTables : public ::testing::Test {
 protected:
  ~LoadTables() override {
    for (const auto& holder : holders_) {
      caf::anon_send_exit(holder, caf::exit_reason::kill);
    }
  }
  /// \param find  the holder of the only part
  Status load(std::function<caf::actor()> find, const Pieces& pieces = {}) {
    Replicas part;
    part.what = "part 0";
    part.actors = {std::move(find)};
    part.recovery_deadline = 5s;
    LearnedRowsLinks links;
    links.holders = {std::make_shared<const Replicas>(std::move(part))};
    return load_tables(system_, links, pieces, 7);
  }
  caf::actor holder() {
    return holders_.emplace_back(system_.spawn(fake_holder, OnPiece([this](const CopyPiece& piece) {
                                                 const std::lock_guard guard(mutex_);
                                                 given_.insert(given_.end(), piece.ids.begin(),
                                                               piece.ids.end());
                                               })));
  }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  std::vector<caf::actor> holders_;
  std::mutex mutex_;
  std::vector<std::uint64_t> given_;
};

TEST_F(LoadTables, GivesAllPiecesInOrder) {
  const auto only = holder();

  EXPECT_OK(load([&] { return only; }));
  EXPECT_EQ(given_, (std::vector<std::uint64_t>{4, 5, 6}));
}

TEST_F(LoadTables, AHolderThatDiesGetsThemAllOnceItIsStartedAgain) {
  std::atomic<bool> dead{false};
  int looks = 0;
  const std::function<void()> dies = [&] { dead = true; };
  const auto first = holders_.emplace_back(system_.spawn(dying_holder, dies));
  const auto second = holder();

  EXPECT_OK(load([&] { return !dead ? first : ++looks < 4 ? caf::actor() : second; }));
  ASSERT_GE(given_.size(), 3U);
  EXPECT_EQ(std::vector(given_.end() - 3, given_.end()), (std::vector<std::uint64_t>{4, 5, 6}));
}

TEST_F(LoadTables, AHolderThatIsReplacedBetweenPiecesGetsThoseBefore) {
  int looks = 0;
  const auto first = holder();
  const auto second = holder();

  EXPECT_OK(load([&] { return ++looks < 4 ? first : second; }));
  EXPECT_EQ(given_, (std::vector<std::uint64_t>{4, 5, 6, 4, 5, 6}));
}

TEST_F(LoadTables, RowsThatAreMissingAreNotAskedForAgain) {
  const auto only = holder();
  Pieces some;
  some.nodes = {4, 6};

  EXPECT_ERROR(load([&] { return only; }, some), Errc::data_corruption,
               "part 0: a copy lacks rows");
  EXPECT_EQ(given_, some.nodes);
}

TEST_F(LoadTables, AHolderThatDoesNotComeBackIsLost) {
  const auto began = std::chrono::steady_clock::now();

  EXPECT_ERROR(load([] { return caf::actor(); }), Errc::peer_lost, "part 0");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

}  // namespace
}  // namespace troupe
