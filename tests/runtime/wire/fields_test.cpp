// Every message against the schema: lists have all its fields and no others; codecs, also those
// written by hand, set all of them.
#include "tests/runtime/wire/examples.hpp"
#include "tests/support/expect.hpp"

#include <capnp/dynamic.h>
#include <capnp/schema.h>

#include <set>
#include <string>
#include <vector>

namespace troupe::net {

// Lists that differ from the schema: two fields of Join are missing and one is not there; a number is
// too narrow.
struct Incomplete {
  ProcessInstance instance;
  std::uint64_t generation = 0;
  std::string name;
};
template <>
struct Fields<Incomplete> {
  using Root = wire::Join;
  static constexpr std::tuple fields{field::value("instance", &Incomplete::instance),
                                     field::value("generation", &Incomplete::generation),
                                     field::text("name", &Incomplete::name, 9)};
};
/// One member has no entry.
struct Shortened {
  std::uint32_t epoch = 0;
  std::string why;
};
template <>
struct Fields<Shortened> {
  using Root = wire::KeepBest;
  static constexpr std::tuple fields{field::value("epoch", &Shortened::epoch)};
};
struct AsWide {
  std::uint32_t number = 0;
};
template <>
struct Fields<AsWide> {
  using Root = wire::KeepBest;
  static constexpr std::tuple fields{field::value("epoch", &AsWide::number)};
};
struct TooNarrow {
  std::uint16_t number = 0;
};
template <>
struct Fields<TooNarrow> {
  using Root = wire::KeepBest;
  static constexpr std::tuple fields{field::value("epoch", &TooNarrow::number)};
};

namespace {

using Names = std::set<std::string>;

// ---- lists ----

template <class T>
void add_differences(Names& differences);

/// A number of the schema's type, or a struct that is declared for the schema's.
template <class M>
void compare_type(capnp::Type type, const std::string& name, Names& differences) {
  if (type.which() != schema_type<M>()) {
    differences.insert(name + " is of another type");
  } else if constexpr (!Number<M>) {
    if (type.asStruct() != capnp::Schema::from<typename Fields<M>::Root>()) {
      differences.insert(name + " is of another struct");
    }
    add_differences<M>(differences);
  }
}

template <class Kind>
void compare(const Kind& /*field*/, capnp::StructSchema /*schema*/, Names& /*differences*/) {}
template <class S, class M>
void compare(const field::Value<S, M>& field, capnp::StructSchema schema, Names& differences) {
  KJ_IF_MAYBE (found, schema.findFieldByName(std::string(field.name).c_str())) {
    compare_type<M>(found->getType(), std::string(field.name), differences);
  }
}
template <class S, class E>
void compare(const field::List<S, E>& field, capnp::StructSchema schema, Names& differences) {
  KJ_IF_MAYBE (found, schema.findFieldByName(std::string(field.name).c_str())) {
    compare_type<E>(found->getType().asList().getElementType(), std::string(field.name),
                    differences);
  }
}

template <class T>
void add_differences(Names& differences) {
  const capnp::StructSchema schema = capnp::Schema::from<typename Fields<T>::Root>();
  const auto listed = listed_fields<T>();
  Names entries;
  for (const auto& entry : listed) {
    entries.insert(entry.name);
  }
  Names fields;
  for (const auto field : schema.getFields()) {
    fields.insert(field.getProto().getName().cStr());
  }
  for (const auto& field : fields) {
    if (!entries.contains(field)) {
      differences.insert(field + " has no entry");
    }
  }
  for (const auto& entry : entries) {
    if (!fields.contains(entry)) {
      differences.insert(entry + " is not in the schema");
    }
  }
  if (entries.size() != listed.size()) {
    differences.insert("an entry comes twice");
  }
  std::apply([&](const auto&... field) { (compare(field, schema, differences), ...); },
             Fields<T>::fields);
}

template <class T>
Names differences() {
  Names found;
  add_differences<T>(found);
  return found;
}

TEST(FieldListsInside, AreTheSchemas) {
  EXPECT_EQ(differences<BatchTrace>(), Names()) << "in ReadyBatch, which is written by hand";
}

/// Initializes any member of a message.
struct AnyMember {
  template <class M>
  operator M() const;  // NOLINT(google-explicit-constructor)
};

/// How many members an aggregate has.
template <class T, class... Members>
constexpr std::size_t count_members() {
  if constexpr (requires { T{std::declval<Members>()..., AnyMember{}}; }) {
    return count_members<T, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

/// Counters have a check of their own beside their list.
template <class T>
constexpr bool lists_all_members() {
  return count_members<T>() == std::tuple_size_v<decltype(Fields<T>::fields)>;
}

template <class T>
void expect_all_members() {
  constexpr bool counts = requires {
    T::counters();
  };
  if constexpr (std::is_same_v<T, GradientChunk>) {
    EXPECT_EQ(std::tuple_size_v<decltype(Fields<GradientChunk>::fields)>, 8U) << "but sum_bytes";
  } else if constexpr (std::is_same_v<T, LoadCopy>) {
    EXPECT_EQ(std::tuple_size_v<decltype(Fields<LoadCopy>::fields)>, count_members<CopyPiece>());
  } else if constexpr (std::is_base_of_v<TensorPiece, T>) {
    constexpr std::size_t own = std::is_same_v<T, LoadTensors> ? 1 : 2;
    EXPECT_EQ(std::tuple_size_v<decltype(Fields<T>::fields)>, count_members<TensorPiece>() + own);
  } else if constexpr (HasFieldList<T> && !counts) {
    EXPECT_TRUE(lists_all_members<T>());
  }
}

TEST(FieldListsInside, HaveAllMembers) {
  EXPECT_TRUE(lists_all_members<Digest>());
  EXPECT_TRUE(lists_all_members<FrontierCounts>());
  EXPECT_TRUE(lists_all_members<ProcessInstance>());
  EXPECT_TRUE(lists_all_members<Members::Entry>());
  EXPECT_TRUE(lists_all_members<InferenceState>());
  EXPECT_FALSE(lists_all_members<Shortened>());
}

TEST(FieldListsInside, ThatDifferAreFound) {
  EXPECT_EQ(differences<Incomplete>(), (Names{"address has no entry", "version has no entry",
                                              "generation is not in the schema"}));
  EXPECT_EQ(differences<AsWide>(), Names());
  EXPECT_EQ(differences<TooNarrow>(), Names{"epoch is of another type"});
}

// ---- codecs ----

/// A message in which each field of the schema is set, that is: differs from its default.
template <class T>
T full_example() {
  return example(static_cast<T*>(nullptr));
}

// The default width of ids is 8: those of these are narrow.
template <>
HopRequest full_example<HopRequest>() {
  auto narrow = example(static_cast<HopRequest*>(nullptr));
  narrow.frontiers[0].nodes[3] = NodeId{1};
  return narrow;
}
template <>
RowRequest full_example<RowRequest>() {
  auto narrow = example(static_cast<RowRequest*>(nullptr));
  narrow.sections[1].nodes[0] = NodeId{1};
  narrow.tables[1].rows[0] = 1;
  return narrow;
}
template <>
SampleBatch full_example<SampleBatch>() {
  auto narrow = example(static_cast<SampleBatch*>(nullptr));
  narrow.links->sources[2] = NodeId{1};
  return narrow;
}
template <>
ReadyBatch full_example<ReadyBatch>() {
  auto narrow = example(static_cast<ReadyBatch*>(nullptr));
  auto sampled = *narrow.batch.sampled;
  sampled.key.purpose = Purpose::evaluate;
  sampled.frontier = Frontier::all;
  sampled.nodes[0].ids[1] = NodeId{1};
  sampled.edges[0].source_type = NodeTypeId{1};
  sampled.links->destination_type = NodeTypeId{1};
  sampled.nodes[0].hop_end[0] = 0;
  narrow.batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  return narrow;
}

void add_all(capnp::StructSchema schema, const std::string& path, Names& all) {
  for (const auto field : schema.getFields()) {
    const auto name = path + field.getProto().getName().cStr();
    all.insert(name);
    const auto type = field.getType();
    if (type.isStruct()) {
      add_all(type.asStruct(), name + ".", all);
    } else if (type.isList() && type.asList().getElementType().isStruct()) {
      add_all(type.asList().getElementType().asStruct(), name + ".", all);
    }
  }
}

void add_set(capnp::DynamicStruct::Reader in, const std::string& path, Names& set) {
  for (const auto field : in.getSchema().getFields()) {
    const auto name = path + field.getProto().getName().cStr();
    if (!in.has(field, capnp::HasMode::NON_DEFAULT)) {
      continue;
    }
    const auto value = in.get(field);
    switch (value.getType()) {
      case capnp::DynamicValue::STRUCT:
        add_set(value.as<capnp::DynamicStruct>(), name + ".", set);
        break;
      case capnp::DynamicValue::LIST:
        for (const auto entry : value.as<capnp::DynamicList>()) {
          set.insert(name);
          if (entry.getType() == capnp::DynamicValue::STRUCT) {
            add_set(entry.as<capnp::DynamicStruct>(), name + ".", set);
          }
        }
        continue;
      case capnp::DynamicValue::TEXT:
        if (value.as<capnp::Text>().size() == 0) {
          continue;
        }
        break;
      default:
        break;
    }
    set.insert(name);
  }
}

/// Fields that the codec sets in a full message, after it was decoded and encoded.
template <class T>
Result<Names> set_by_codec() {
  using Root = typename Fields<T>::Root;
  const Frame frame = to_frame(full_example<T>());
  TROUPE_ASSIGN_OR_RETURN(const T back, Wire<T>::decode(frame));
  EXPECT_TRUE(same_contents(to_frame(back), frame));
  Names set;
  const auto read = [&](typename Root::Reader in) -> Status {
    add_set(in, "", set);
    return ok_status();
  };
  TROUPE_RETURN_IF_ERROR((read_message<std::monostate, Root>(frame, "example", read)));
  return set;
}

// ---- all kinds ----

struct ListedKind {
  std::string_view name;
  capnp::StructSchema schema;
  Names (*list_differences)();
  void (*expect_all_members)();
  Result<Names> (*set_by_codec)();
};

template <class T>
ListedKind listed_kind(std::type_identity<T> /*kind*/) {
  return {.name = type_name<T>(),
          .schema = capnp::Schema::from<typename Fields<T>::Root>(),
          .list_differences =
              [] {
                if constexpr (HasFieldList<T>) {
                  return differences<T>();
                } else {
                  return Names();
                }
              },
          .expect_all_members = expect_all_members<T>,
          .set_by_codec = set_by_codec<T>};
}

class FieldLists : public ::testing::TestWithParam<ListedKind> {};
INSTANTIATE_TEST_SUITE_P(All, FieldLists, ::testing::ValuesIn(for_all_kinds([](auto kind) {
                           return listed_kind(kind);
                         })),
                         name_of_kind<ListedKind>);

TEST_P(FieldLists, AreTheSchemas) {
  EXPECT_EQ(GetParam().list_differences(), Names());
}

TEST_P(FieldLists, HaveAllMembers) {
  GetParam().expect_all_members();
}

/// With Codec.DecodesAndEncodesToTheSameFrame: no field of the schema is lost on the way.
TEST_P(FieldLists, AreSetByTheCodec) {
  Names all;
  add_all(GetParam().schema, "", all);
  ASSERT_OK_AND_ASSIGN(const Names set, GetParam().set_by_codec());
  EXPECT_EQ(set, all);
}

}  // namespace
}  // namespace troupe::net
