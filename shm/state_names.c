/* SPDX-License-Identifier: MIT */
#include "shm/state_names.h"
