# cmake -DROOT=<repository> -P check_units.cmake: fails where a constant or type in an anonymous namespace has the name of one
# that a header declares at namespace scope, in the same room or in a room below. Rooms are compiled as units of several
# sources (TROUPE_UNITY), where the anonymous one would take the place of the header's in the sources after it, without an
# error. An alias that is the same in both places is fine.
cmake_minimum_required(VERSION 3.25)

set(declaration "^(inline |static )*(constexpr [^=({]*[ *&]|const [^=({]*[ *&]|struct |class |enum class |enum |using )([A-Za-z_0-9]+)( |\\{|\\[|=|;|$)")
set(problems 0)
set(count 0)

# Names that a file declares at namespace scope: `all`, or those in anonymous namespaces only.
function(names_of file which names_var)
  file(STRINGS ${file} lines REGEX "^(namespace|}  // namespace|inline |static |constexpr |const |struct |class |enum |using )")
  set(names "")
  set(anonymous FALSE)
  foreach(line IN LISTS lines)
    if(line MATCHES "^namespace {")
      set(anonymous TRUE)
    elseif(line MATCHES "^}  // namespace$")
      set(anonymous FALSE)
    elseif((anonymous OR which STREQUAL "all") AND NOT line MATCHES "^using (namespace|[A-Za-z_:]*::)" AND
           NOT line MATCHES "^(struct|class|enum|enum class) [A-Za-z_0-9]+;" AND line MATCHES "${declaration}")
      set(name ${CMAKE_MATCH_3})
      list(APPEND names ${name})
      string(REGEX REPLACE "^using [A-Za-z_0-9]+ = " "" meaning "${line}")
      set(meaning_${name} "${meaning}" PARENT_SCOPE)
    endif()
  endforeach()
  set(${names_var} "${names}" PARENT_SCOPE)
endfunction()

set(below "")  # names of the headers of the rooms so far
foreach(room runtime/base runtime/net runtime/graph runtime/data runtime/generate runtime/partition runtime/sample runtime/feature
             runtime/wire runtime/nn runtime/nn/ops runtime/nn/conv runtime/job runtime/run gpu actors launcher launcher/processes python)
  file(GLOB headers ${ROOT}/${room}/*.hpp)
  foreach(header IN LISTS headers)
    names_of(${header} all names)
    foreach(name IN LISTS names)
      list(APPEND below ${name})
      file(RELATIVE_PATH from ${ROOT} ${header})
      set(declared_${name} ${from})
      set(text_${name} "${meaning_${name}}")
    endforeach()
  endforeach()
  file(GLOB sources ${ROOT}/${room}/*.cpp)
  foreach(source IN LISTS sources)
    math(EXPR count "${count} + 1")
    names_of(${source} anonymous names)
    foreach(name IN LISTS names)
      if(name IN_LIST below AND NOT meaning_${name} STREQUAL text_${name})
        file(RELATIVE_PATH from ${ROOT} ${source})
        message(SEND_ERROR "${from}: ${name} is also the name of one in ${declared_${name}}: choose another")
        math(EXPR problems "${problems} + 1")
      endif()
    endforeach()
  endforeach()
endforeach()

if(count EQUAL 0)
  message(FATAL_ERROR "expected sources under ${ROOT}, found none")
endif()
message(STATUS "units: ${count} sources, ${problems} problems")
