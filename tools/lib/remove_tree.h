/* SPDX-License-Identifier: MIT */
/* A directory that a tool has made for itself, with all that is in it. */
#ifndef PSUP_TOOLS_REMOVE_TREE_H
#define PSUP_TOOLS_REMOVE_TREE_H

/* Removes what can be removed; links are not followed. 0, or the -errno of the
 * first that could not. */
int remove_tree(const char *path);

#endif
