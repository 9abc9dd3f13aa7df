/* SPDX-License-Identifier: MIT */
/* How hard the machine is pressed (PSI), and its load. */
#ifndef TOP_PRESSURE_H
#define TOP_PRESSURE_H

/* Per cent of the last 10 s in which somebody waited; < 0: not known. */
struct pressure {
	double cpu, memory, io;
	double load; /* of the last minute */
};

void pressure_read(struct pressure *ret);

#endif
