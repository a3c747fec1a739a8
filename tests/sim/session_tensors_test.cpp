// Tensors by name in programs of the user's.
#include "runtime/graph/half.hpp"
#include "runtime/graph/npy.hpp"
#include "tests/sim/session_support.hpp"

#include <map>
#include <numeric>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::all_nodes;
using testing::one_host;
using testing::Overrides;
using testing::two_hosts;
using testing::values_of;
using testing::with;

using Ids = std::vector<std::uint64_t>;

class SessionTensors : public testing::SessionTest {};

const std::vector<Overrides> tensor_layouts = {
    two_hosts,
    one_host,
    {"cluster.hosts=2", "partition.parts=5"},
    {"cluster.hosts=2", "partition.parts=2", "cluster.replicas=2"},
    {"cluster.hosts=2", "partition.parts=3", "cluster.placement=server_client"}};

TEST_F(SessionTensors, AreReadByAllRanksAsTheyWereWritten) {
  for (const auto& layout : tensor_layouts) {
    SCOPED_TRACE(layout.front() + " " + layout.back());
    const auto ran = run(layout, [](Session& session) -> Status {
      const auto nodes = all_nodes();
      const std::size_t half = nodes.size() / 2;
      const auto mine = std::span(nodes).subspan(raw(session.rank()) * half, half);
      TROUPE_ASSIGN_OR_RETURN(auto tensor, session.make_tensor("mem", {.shape = {2}}));
      EXPECT_OK(session.make_tensor("mem", {.shape = {2}}));
      EXPECT_EQ(tensor.rows(), nodes.size());
      EXPECT_EQ(tensor.row_bytes(), 8U);
      EXPECT_EQ(values_of<float>(tensor.read(nodes)), std::vector<float>(2 * nodes.size()));
      TROUPE_RETURN_IF_ERROR(session.barrier(20s));
      std::vector<float> rows;
      for (const auto node : mine) {
        rows.insert(rows.end(), {static_cast<float>(raw(node)), -1});
      }
      TROUPE_RETURN_IF_ERROR(tensor.write(mine, std::span<const float>(rows)));
      TROUPE_RETURN_IF_ERROR(tensor.add(mine, std::span<const float>(rows)));
      TROUPE_RETURN_IF_ERROR(session.barrier(20s));
      TROUPE_ASSIGN_OR_RETURN(const auto same, session.tensor("mem"));
      const auto now = values_of<float>(same.read(nodes));
      for (std::size_t i = 0; i < now.size() / 2; ++i) {
        EXPECT_EQ(now[2 * i], static_cast<float>(2 * i));
        EXPECT_EQ(now[2 * i + 1], -2);
      }
      return ok_status();
    });
    EXPECT_OK(ran.status);
  }
}

TEST_F(SessionTensors, OfEdgesAndOfFreeRowsLieEvenlyInParts) {
  for (const auto& layout : tensor_layouts) {
    const auto ran = run(layout, [](Session& session) -> Status {
      TROUPE_ASSIGN_OR_RETURN(
          auto edges, session.make_tensor("e", {.of = TensorOf::edges, .dtype = DType::i64}));
      TROUPE_ASSIGN_OR_RETURN(
          auto free,
          session.make_tensor(
              "f", {.of = TensorOf::rows, .rows = 7, .dtype = DType::u8, .shape = {2, 3}}));
      TROUPE_ASSIGN_OR_RETURN(auto none, session.make_tensor("none", {.of = TensorOf::rows}));
      EXPECT_EQ(edges.rows(), session.graph().edge_types[0].end_of_edge_ids());
      EXPECT_EQ(free.row_bytes(), 6U);
      EXPECT_EQ(none.rows(), 0U);
      Ids ids(edges.rows());
      std::iota(ids.begin(), ids.end(), 0);
      std::vector<std::int64_t> numbers(ids.begin(), ids.end());
      if (session.rank() == Rank{1}) {
        TROUPE_RETURN_IF_ERROR(edges.write<std::int64_t>(ids, numbers));
        const std::vector<std::uint8_t> row{1, 2, 3, 4, 5, 6};
        for (std::uint64_t i = 0; i < 7; ++i) {
          for (std::uint64_t times = 0; times <= i; ++times) {
            TROUPE_RETURN_IF_ERROR(free.add<std::uint8_t>(Ids{i}, row));
          }
        }
      }
      TROUPE_RETURN_IF_ERROR(session.barrier(20s));
      EXPECT_EQ(values_of<std::int64_t>(edges.read(ids)), numbers);
      EXPECT_EQ(values_of<std::int64_t>(edges.read(Ids{5, 3, 5, 5000})),
                (std::vector<std::int64_t>{5, 3, 5, 5000}));
      EXPECT_EQ(values_of<std::int64_t>(edges.read_range(4000, 3)),
                (std::vector<std::int64_t>{4000, 4001, 4002}));
      EXPECT_EQ(values_of<std::uint8_t>(free.read(Ids{6, 0})),
                (std::vector<std::uint8_t>{7, 14, 21, 28, 35, 42, 1, 2, 3, 4, 5, 6}));
      EXPECT_TRUE(values_of<float>(none.read(Ids{})).empty());
      return session.barrier(20s);
    });
    EXPECT_OK(ran.status);
  }
}

TEST_F(SessionTensors, StartByNameAndOriginalIdWhateverTheParts) {
  std::vector<Digest> digests;
  for (const auto& layout : tensor_layouts) {
    Digest digest;
    const auto ran = run(layout, [&](Session& session) -> Status {
      TROUPE_ASSIGN_OR_RETURN(
          auto tensor, session.make_tensor("noise", {.dtype = DType::f16,
                                                     .shape = {3},
                                                     .init = {.kind = "normal", .std = 0.5}}));
      if (session.rank() == Rank{0}) {
        const auto file = folder_.path() / fmt::format("noise-{}.npy", digests.size());
        TROUPE_RETURN_IF_ERROR(tensor.export_npy(file));
        EXPECT_ERROR(tensor.export_npy(file), Errc::failed_precondition, "it exists; try: another");
        EXPECT_ERROR(tensor.export_npy(folder_.path() / "none/x.npy"), Errc::not_found,
                     "No such file or directory");
        EXPECT_ERROR(tensor.export_npy(file / "x.npy"), Errc::failed_precondition,
                     "Not a directory");
        TROUPE_ASSIGN_OR_RETURN(const auto array, map_npy(file));
        EXPECT_EQ(array.shape, (std::vector<std::uint64_t>{2708, 3}));
        digest = digest_of(array.data.bytes);
        double squares = 0;
        for (const auto word : array.as<std::uint16_t>()) {
          squares += std::pow(static_cast<double>(f16_to_float(word)), 2);
        }
        EXPECT_NEAR(squares / (2708 * 3), 0.25, 0.02);
      }
      return session.barrier(20s);
    });
    ASSERT_OK(ran.status);
    digests.push_back(digest);
    EXPECT_EQ(to_string(digests.front()), to_string(digest));
  }
}

TEST_F(SessionTensors, ThatAreDeletedAreGoneAndTheirNamesFree) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto first, session.make_tensor("t", {.dtype = DType::i32}));
    TROUPE_RETURN_IF_ERROR(session.delete_tensor("t"));
    EXPECT_ERROR(first.read(Ids{0}), Errc::not_found, "tensor \"t\": was deleted");
    EXPECT_ERROR(session.tensor("t"), Errc::not_found, "none was made");
    EXPECT_ERROR(session.delete_tensor("t"), Errc::not_found, "none was made");
    TROUPE_ASSIGN_OR_RETURN(auto second, session.make_tensor("t", {.dtype = DType::f64}));
    EXPECT_EQ(values_of<double>(second.read(Ids{0, 2707})), (std::vector<double>{0, 0}));
    EXPECT_ERROR(session.tensor("u"), Errc::not_found, "expected one of the tensors made (\"t\")");
    return session.barrier(20s);
  });
  EXPECT_OK(ran.status);
}

TEST_F(SessionTensors, RefuseWhatCannotBe) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    const auto refused = [&](const std::string& name, const TensorOptions& options,
                             const std::string& why) {
      EXPECT_ERROR(session.make_tensor(name, options), Errc::invalid_argument, why);
    };
    refused("", {}, "expected a name of 1 to 256 bytes, got 0");
    refused(std::string(257, 'x'), {}, "got 257");
    refused("t", {.node_type = NodeTypeId{1}}, "node type: expected < 1, got 1");
    refused("t", {.of = TensorOf::edges, .edge_type = EdgeTypeId{4}}, "expected an edge type < 1");
    refused("t", {.dtype = DType::u32}, "got u32");
    refused("t", {.shape = {0}}, "got f32 [0]");
    refused("t", {.shape = {1, 1, 1, 1}}, "got f32 [1, 1, 1, 1]");
    refused("t", {.shape = {1U << 20}}, "1048576 bytes together");
    refused("t", {.dtype = DType::i32, .init = {.kind = "normal"}}, "got \"normal\" of i32");
    refused("t", {.init = {.kind = "ones"}}, "got \"ones\" of f32");
    refused("t", {.init = {.kind = "normal", .std = std::nan("")}},
            "a finite std above 0, got nan");
    refused("t", {.init = {.kind = "uniform", .scale = -5}}, "a finite scale above 0, got -5");

    TROUPE_RETURN_IF_ERROR(
        session.make_tensor("noise", {.init = {.kind = "normal", .std = 2, .scale = 1}}));
    EXPECT_OK(session.make_tensor("noise", {.init = {.kind = "normal", .std = 2, .scale = 7}}))
        << "a normal start has no scale";
    refused("noise", {.init = {.kind = "normal", .std = 3}},
            "nodes of node, started with \"normal\" with std 2, got \"noise\" of f32 [], nodes of "
            "node, started with \"normal\" with std 3");

    TROUPE_ASSIGN_OR_RETURN(auto tensor, session.make_tensor("t", {.shape = {2}}));
    refused("t", {.shape = {3}},
            "expected what was made before, \"t\" of f32 [2], nodes of node, got \"t\" of f32 [3]");
    const std::vector<float> row{1, 2};
    const std::vector<double> wide{1, 2};
    EXPECT_ERROR(tensor.write<double>(Ids{1}, wide), Errc::invalid_argument,
                 "expected 1 rows of f32 [2], got 16 bytes of f64");
    EXPECT_ERROR(tensor.add<float>(Ids{1, 2}, row), Errc::invalid_argument, "got 8 bytes of f32");
    EXPECT_ERROR(tensor.write<float>(Ids{2708}, row), Errc::invalid_argument,
                 "expected rows below 2708, got 2708");
    EXPECT_ERROR(tensor.read(Ids{5, ~std::uint64_t{0}}), Errc::invalid_argument, "rows below 2708");
    EXPECT_ERROR(tensor.read_range(2700, 9), Errc::invalid_argument, "got 9 from 2700 on");
    EXPECT_ERROR(session.column("year"), Errc::not_found, "column \"year\" of node type node");
    EXPECT_ERROR(session.column("year", NodeTypeId{3}), Errc::invalid_argument, "node type");
    return tensor.write<float>(Ids{}, {});
  });
  EXPECT_OK(ran.status);
}

TEST_F(SessionTensors, OfRanksThatDifferFailThemAll) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    const bool first = session.rank() == Rank{0};
    return Status(session.make_tensor("t", {.dtype = first ? DType::f32 : DType::f64}).error());
  });
  EXPECT_ERROR(ran.status, Errc::invalid_argument,
               "expected all ranks to make the same tensors in the same order");
}

TEST_F(SessionTensors, MadeWhileAnotherRankMakesAnotherCallNameBothCalls) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    return session.rank() == Rank{0} ? Status(session.make_tensor("t").error())
                                     : session.barrier(20s);
  });
  EXPECT_ERROR(ran.status, Errc::invalid_argument, "make_tensor or delete_tensor");
  EXPECT_ERROR(ran.status, Errc::invalid_argument, "in barrier");
}

TEST_F(SessionTensors, HaveNamesThatCheckpointsCanHold) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"\xFF\xFE", "tensor \"\xEF\xBF\xBD\xEF\xBF\xBD\": expected a name in UTF-8"},
        {"two\nlines", R"(tensor "two\nlines": expected a name in UTF-8)"},
        {std::string("a\0b", 3), R"(tensor "a\u0000b": expected a name in UTF-8)"},
        {"\x7F", "without control characters"}};
    for (const auto& [name, text] : wrong) {
      EXPECT_ERROR(session.make_tensor(name), Errc::invalid_argument, text);
    }
    TROUPE_RETURN_IF_ERROR(session.make_tensor("Größe \"a/../b\""));
    return session.status();
  });
  EXPECT_OK(ran.status);
}

TEST_F(SessionTensors, OfDtypesAndRowsThatThereAreNotAreRefused) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    EXPECT_ERROR(session.make_tensor("t", {.dtype = static_cast<DType>(99)}),
                 Errc::invalid_argument, "tensor \"t\": expected rows of f32");
    EXPECT_ERROR(session.make_tensor("t", {.of = static_cast<TensorOf>(9), .rows = 4}),
                 Errc::invalid_argument, "tensor \"t\": expected rows of nodes, edges or rows of");
    return session.status();
  });
  EXPECT_OK(ran.status);
}

TEST_F(SessionTensors, ThatWereLostWithTheirHolderAreNotTakenForZeros) {
  ASSERT_OK_AND_ASSIGN(const auto cluster, create(one_host));
  cluster->start([&](Session& session) -> Status {
    const auto nodes = all_nodes();
    TROUPE_ASSIGN_OR_RETURN(auto tensor, session.make_tensor("t"));
    TROUPE_RETURN_IF_ERROR(session.barrier(20s));
    if (session.rank() == Rank{0}) {
      EXPECT_TRUE(cluster->cluster().kill(ProcessId{0}, "holder of part 1"));
      EXPECT_ERROR(tensor.read(nodes), Errc::peer_lost, "tensor \"t\"");
      return tensor.write<float>(nodes, std::vector<float>(nodes.size()));
    }
    return session.barrier(20s);
  });

  EXPECT_ERROR(cluster->wait().status, Errc::peer_lost, "tensor \"t\"");
}

}  // namespace
}  // namespace troupe
