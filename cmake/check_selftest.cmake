# cmake -DROOT=<repository> -DWORK=<scratch folder> -DCXX=<compiler> -P check_selftest.cmake: shows that each check of this
# folder passes a good tree and finds a planted violation.
cmake_minimum_required(VERSION 3.25)

# Runs check_NAME.cmake on a tree of one file; with `message_part` it must fail and say so, with "" it must pass. A
# further argument is the text of the .cpp beside that file.
function(expect name path content message_part)
  set(tree ${WORK}/${name})
  file(REMOVE_RECURSE ${tree})
  file(WRITE ${tree}/${path} "${content}")
  if(ARGN)
    string(REGEX REPLACE "\\.hpp$" ".cpp" source ${path})
    file(WRITE ${tree}/${source} "${ARGN}")
  endif()
  file(COPY ${ROOT}/.clang-format DESTINATION ${tree})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -DROOT=${tree} -DBUILD=${tree} -DCXX=${CXX} -P ${ROOT}/cmake/check_${name}.cmake
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(message_part STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "check_${name} refused a good ${path}: ${output}")
  elseif(NOT message_part STREQUAL "" AND result EQUAL 0)
    message(SEND_ERROR "check_${name} missed the violation in ${path}: ${content}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${message_part}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "check_${name} on ${path}: expected \"${message_part}\", found: ${output}")
  endif()
endfunction()

expect(layers runtime/nn/a.cpp "#include \"runtime/base/x.hpp\"\n#include \"schema/y.capnp.h\"\n" "")
expect(layers actors/a.hpp "#include <caf/fwd.hpp>\n#include \"runtime/job/job.hpp\"\n" "")
expect(layers gpu/a.cu "#include <cuda_runtime.h>\n" "")
expect(layers runtime/base/a.cpp "#include \"runtime/nn/x.hpp\"\n" "points upwards, from runtime/base to runtime/nn")
expect(layers runtime/job/a.hpp "  #  include \"actors/x.hpp\"\n" "points upwards")
expect(layers gpu/a.hpp "#include \"launcher/x.hpp\"\n" "points upwards")
expect(layers runtime/net/a.cpp "#include <caf/all.hpp>\n" "is for actors/ and launcher/")
expect(layers actors/a.cpp "#include <cuda_runtime.h>\n" "is for gpu/")
expect(layers runtime/base/a.cpp "#include \"x.hpp\"\n" "does not start at a room")
expect(layers runtime/base/a.cpp "#include \"tests/support/expect.hpp\"\n" "does not start at a room")
expect(layers python/a.cpp "#include \"launcher/session.hpp\"\n#include <pybind11/stl.h>\n" "")
expect(layers python/a.cpp "#include \"launcher/session_state.hpp\"\n" "is not installed")
expect(layers launcher/a.cpp "#include <pybind11/stl.h>\n" "is for python/")
expect(layers launcher/a.cpp "#include \"python/x.hpp\"\n" "points upwards")
expect(layers runtime/nn/a.cpp "void f(int* a) { __builtin_prefetch(a)\; }\n" "is left out")
expect(layers runtime/base/prefetch.hpp "inline void f(int* a) { __builtin_prefetch(a)\; }\n" "")
expect(layers runtime/extra/a.cpp "" "expected a room of the design")
expect(layers docs/a.txt "" "found none")

expect(headers runtime/base/a.hpp "#pragma once\n#include <string>\ninline std::string a()\n{ return {};\n}\n" "")
expect(headers runtime/base/a.hpp "#pragma once\ninline std::string a()\n{ return {};\n}\n" "does not compile alone")
# A source shows its header only where it includes it first.
set(header "#pragma once\ninline std::string a()\n{ return {};\n}\n")
expect(headers runtime/base/a.hpp "${header}" "" "#include \"runtime/base/a.hpp\"\n#include <string>\n")
expect(headers runtime/base/a.hpp "${header}" "does not compile alone" "#include <string>\n#include \"runtime/base/a.hpp\"\n")

expect(format runtime/base/a.cpp "int a = 1\;\n" "")
expect(format runtime/base/a.cpp "int   a=1\;\n" "not formatted")

set(header "#pragma once\nnamespace troupe {\ninline constexpr int most = 1\;\nusing Wire = std::string\;\n}\n")
expect(units runtime/net/a.hpp "${header}" "" "namespace troupe {\nnamespace {\nconstexpr int least = 2\;\nusing Wire = std::string\;\n}  // namespace\nconstexpr int most = 2\;\n}\n")
expect(units runtime/net/a.hpp "${header}" "most is also the name" "namespace troupe {\nnamespace {\nconstexpr int most = 2\;\n}  // namespace\n}\n")
expect(units runtime/net/a.hpp "${header}" "Wire is also the name" "namespace troupe {\nnamespace {\nstruct Wire {}\;\n}  // namespace\n}\n")
expect(units docs/a.txt "" "found none")
