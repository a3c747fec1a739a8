#include "runtime/wire/field_places.hpp"

#include "runtime/base/assert.hpp"

namespace troupe::net {

std::vector<std::uint32_t> places_of(capnp::StructSchema schema, const SchemaFields& fields) {
  std::vector<std::uint32_t> places;
  for (const auto& [name, type] : fields) {
    const auto found = schema.getFieldByName(name.c_str());
    TROUPE_ASSERT(
        found.getType().which() == type && !found.getProto().getSlot().getHadExplicitDefault(),
        "a field is of the type that its member has, its default 0", name);
    places.push_back(found.getProto().getSlot().getOffset() * unit_of(type));
  }
  return places;
}

}  // namespace troupe::net
