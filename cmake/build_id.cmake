# cmake -DROOT=… -DOUT=FILE -P build_id.cmake: writes a source with the digest of all that the library is made from, so that
# processes of different builds know each other. Names and contents count, neither where they lie nor how they are compiled.
file(GLOB_RECURSE files RELATIVE ${ROOT}
  ${ROOT}/schema/*.capnp ${ROOT}/runtime/*.[ch]pp ${ROOT}/actors/*.[ch]pp ${ROOT}/launcher/*.[ch]pp)
list(SORT files)
set(all "")
foreach(file IN LISTS files)
  file(SHA256 ${ROOT}/${file} digest)
  string(APPEND all "${file} ${digest}\n")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 16 id)
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[// Made by cmake/build_id.cmake.
namespace troupe {
extern const char build_id[];
const char build_id[] = "@id@";
}  // namespace troupe
]])
