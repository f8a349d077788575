# bitgate_judge_hash(TARGET): compiles the hash of the judging sources into TARGET.
function(bitgate_judge_hash target)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/reference/*.h ${CMAKE_SOURCE_DIR}/reference/*.cpp
    ${CMAKE_SOURCE_DIR}/kernels/*.h ${CMAKE_SOURCE_DIR}/kernels/*.cpp ${CMAKE_SOURCE_DIR}/kernels/*.inc
    ${CMAKE_SOURCE_DIR}/conformance/*.h ${CMAKE_SOURCE_DIR}/conformance/*.cpp)
  set(output ${CMAKE_BINARY_DIR}/judge_hash.cpp)
  set(flags "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE}")
  string(APPEND flags " ${CMAKE_CXX_FLAGS} ${BITGATE_ISA} ${BITGATE_BITS} ${BITGATE_SANITIZE}")
  string(REPLACE ";" " " flags "${flags}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} "-DFLAGS=${flags}" -DOUTPUT=${output}
            -P ${CMAKE_SOURCE_DIR}/ci/suite/judge_hash.cmake
    DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/ci/suite/judge_hash.cmake
    COMMENT "hash of the judging sources"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
