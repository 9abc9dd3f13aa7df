/* SPDX-License-Identifier: MIT */
/* psup-bench-exit: a static program that only exits. Started by psup-bench. */

int
main(void)
{
	return 0;
}
