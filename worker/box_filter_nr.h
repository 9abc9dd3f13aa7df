/* SPDX-License-Identifier: MIT */
/* Numbers that the headers of an older system lack. They are the same on every
 * architecture, as all from 424 on. */
#ifndef PSUP_WORKER_BOX_FILTER_NR_H
#define PSUP_WORKER_BOX_FILTER_NR_H

#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#endif
#ifndef __NR_listmount
#define __NR_listmount 458
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif

#endif
