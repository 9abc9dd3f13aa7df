# SPDX-License-Identifier: MIT
# The calls of libpsup(3) in mdoc, from the headers that are installed: their
# comments are the contract. Each declaration comes first, then the comment
# that stands before it.

function escaped(s) {
	gsub(/\\/, "\\e", s)
	return s ~ /^[.']/ ? "\\&" s : s
}

# mdoc sets the space between sentences, so each begins a line.
function print_sentences(s) {
	gsub(/[.] /, ".\n", s)
	print s
}

# A comment: lines deeper in than the rest are a program.
function print_text(text,    n, i, line, literal) {
	n = split(text, line, "\n")
	if (!fresh)
		print ".Pp"
	for (i = 1; i <= n; i++) {
		if (line[i] ~ /^    / && !literal) {
			print ".Bd -literal -offset indent"
			literal = 1
		} else if (line[i] !~ /^    / && line[i] != "" && literal) {
			print ".Ed"
			print ".Pp"
			literal = 0
		}
		if (literal)
			print escaped(substr(line[i], 5))
		else if (line[i] != "")
			print_sentences(escaped(line[i]))
		else if (i < n && line[i + 1] !~ /^    /)
			print ".Pp"
	}
	if (literal)
		print ".Ed"
}

# What was collected.
function flush_both(    n, i, line) {
	if (decl != "") {
		print ".Bd -literal"
		n = split(decl, line, "\n")
		for (i = 1; i <= n; i++)
			print escaped(line[i])
		print ".Ed"
	}
	if (comment != "")
		print_text(comment)
	if (decl != "" || comment != "")
		fresh = 0
	decl = comment = ""
}

FNR == 1 {
	flush_both()
	braces = in_comment = macro = 0
	name = FILENAME
	sub(/.*\/psup\//, "psup/", name)
	print ".Sh CALLS OF <" name ">"
	fresh = 1
}
in_comment {
	if ($0 ~ /\*\/$/) {
		sub(/ *\*\/$/, "")
		in_comment = 0
	}
	sub(/^ [*] ?/, "")
	if ($0 != "" || comment != "")
		comment = comment (comment != "" ? "\n" : "") $0
	next
}
macro { macro = $0 ~ /\\$/; next }
/^#/ {
	macro = $0 ~ /\\$/
	if ($0 !~ /^#define PSUP_[A-Z_]*_INIT/)
		next
	sub(/^#define /, "")
	sub(/[^A-Z_].*/, "")
	print ".Pp\nBegin with\n.Dv " $0 ","
	print "which fills in its size and what is not given."
	next
}
/SPDX|^extern "C"|^}$/ { next }
/^\/\* ---/ {
	flush_both()
	sub(/^\/\* -+ /, "")
	sub(/ *\*\/$/, "")
	print ".Ss " toupper(substr($0, 1, 1)) substr($0, 2)
	fresh = 1
	next
}
decl == "" && /^\/\*/ {
	flush_both()
	in_comment = $0 !~ /\*\/$/
	sub(/^\/\* ?/, "")
	sub(/ *\*\/$/, "")
	comment = $0
	next
}
/^$/ {
	if (decl == "")
		flush_both()
	else
		decl = decl "\n"
	next
}
{
	sub(/^PSUP_API /, "")
	decl = decl (decl != "" ? "\n" : "") $0
	gsub(/\/\*[^*]*\*\//, "")
	braces += gsub(/{/, "") - gsub(/}/, "")
	if (braces == 0 && $0 ~ /;[ \t]*$/)
		flush_both()
}
END { flush_both() }
