# SPDX-License-Identifier: MIT
# The table of supervisor/custody.c as Promela, for start.pml and handover.pml: a
# move for each row, which -DNO_MOVE_STATE_EVENT leaves out.
FILENAME ~ /\.h$/ && /^enum custody_[a-z]+ \{/ { within = 1; n = 0; next }
/^};/ { within = 0 }
within && match($0, /^\tCUSTODY_[A-Z_]+/) {
	print "#define " substr($0, 2, RLENGTH - 1) " " n++
}
FILENAME ~ /\.c$/ && match($0, /^    \[CUSTODY_[A-Z]+\] =/) {
	state = substr($0, 14, RLENGTH - 16)
}
FILENAME ~ /\.c$/ && match($0, /ON\([A-Z_]+, [A-Z_]+, [A-Z]+\)/) {
	split(substr($0, RSTART + 3, RLENGTH - 4), m, /, /)
	move = move "#ifndef NO_MOVE_" state "_" m[1] "\n" \
		"\t:: hand == CUSTODY_" state " && event == CUSTODY_" m[1] \
		" ->\n\t\thand = CUSTODY_" m[2] "; answer = CUSTODY_" m[3] \
		"; who = to_whom; hand_turn = by_turn\n#endif\n"
}
END {
	print "inline custody_move(to_whom, by_turn)\n{"
	print "\tanswer = CUSTODY_PAST;\n\tif\n" move "\t:: else\n\tfi;\n\tevent = 0\n}"
}
