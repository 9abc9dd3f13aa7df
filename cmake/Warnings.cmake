# Hardening is on, in every build type and with both compilers. Warnings are
# errors in our presets: what another compiler, or another -O, warns of is
# nothing that a user could mend.
option(PSUP_WERROR "Warnings are errors" OFF)
if(PSUP_WERROR)
  add_compile_options(-Werror)
endif()
add_compile_options(
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wformat=2 -Wvla
  -Wimplicit-fallthrough -Wdouble-promotion -Wnull-dereference
  -fno-strict-aliasing -fno-common
  -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-fcf-protection)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wlogical-op -Wduplicated-cond -Wduplicated-branches)
else()
  # A parameter that a callback does not need has no name (C2x; gcc 11, clang 11).
  add_compile_options(-Wno-c2x-extensions)
endif()
add_link_options(-Wl,-z,relro,-z,now -Wl,--as-needed)
if(PSUP_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(PSUP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
  add_compile_options(-D_FORTIFY_SOURCE=2) # needs -O
endif()
include(CheckPIESupported)
check_pie_supported()
