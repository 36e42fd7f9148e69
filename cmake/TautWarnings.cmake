# Warnings for our own targets; headers of others are system headers and stay silent.
function(taut_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                                           $<$<BOOL:${TAUT_WERROR}>:-Werror>)
  if(TAUT_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${TAUT_SANITIZE} -fno-omit-frame-pointer)
    # Under a sanitizer Eigen would align by hand, and free what the wheels' Eigen got from malloc the wrong way.
    target_compile_definitions(${target} PUBLIC EIGEN_MALLOC_ALREADY_ALIGNED=1)
    target_link_options(${target} PUBLIC -fsanitize=${TAUT_SANITIZE})
  endif()
endfunction()
