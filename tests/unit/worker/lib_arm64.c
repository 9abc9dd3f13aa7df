/* SPDX-License-Identifier: MIT */
/* arm64 has the kernel's generic numbers: the box's filter against them, on
 * whatever machine this is compiled. */
#define __ARCH_WANT_SYS_CLONE3 /* as arm64 says before it includes this */
#include <asm-generic/unistd.h>

#include "worker/box_filter_nr.h"

#define BOX_CALL(name, x86, arm, error)                                        \
	_Static_assert(__NR_##name == (arm), #name);
#define BOX_CALL_X86(name, x86, error)
#include "worker/box_filter.def"
_Static_assert(__NR_clone == 220 && __NR_ioctl == 29 && __NR_socket == 198 &&
	__NR_socketpair == 199, "by argument");
