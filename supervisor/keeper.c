/* SPDX-License-Identifier: MIT */
typedef int psup_placeholder_keeper;
