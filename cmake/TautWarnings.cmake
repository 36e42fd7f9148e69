# Warnings for our own targets; headers of others are system headers and stay silent.
function(taut_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-maybe-uninitialized
                                           $<$<BOOL:${TAUT_WERROR}>:-Werror>)
  if(TAUT_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${TAUT_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${TAUT_SANITIZE})
  endif()
endfunction()
