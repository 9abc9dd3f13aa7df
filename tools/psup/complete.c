/* SPDX-License-Identifier: MIT */
/*
 * Reads an unfinished command line by the rows, as option.c will read the
 * finished one, and prints what may come next. What must be looked up is in
 * complete_kind.c.
 */
#include "complete.h"

#include <stdio.h>
#include <string.h>

/* How far the line has been understood. */
struct line {
	const struct opt *wants; /* the option whose value comes; NULL */
	bool dashes;             /* "--" was there */
	int operands;
};

/* The value of an option of every command counts at once: it says where the
 * ids are. */
static void
take_value(const struct opt *o, const char *value)
{
	for (const struct opt *s = shared_options; s->name != NULL; s++)
		if (s == o && o->type == OPT_OF_TEXT)
			*(const char **)o->into = value;
}

/* A word that begins with dashes; `--name=value` or `--name`. */
static void
pass_option(struct cli *c, struct line *l, const char *word)
{
	const option_tables tables = CLI_TABLES(c);
	const char *name = word + 2;
	const struct opt *o;
	size_t len;

	if (strcmp(word, "--") == 0) {
		l->dashes = true;
		return;
	}
	if (word[1] != '-')
		return;
	len = strcspn(name, "=");
	o = option_find(tables, name, len);
	if (o == NULL || !option_takes(o))
		return;
	if (name[len] == '=')
		take_value(o, name + len + 1);
	else if (option_needs(o))
		l->wants = o;
}

/* A whole word before the one that is completed. */
static void
pass_word(struct cli *c, struct line *l, const char *word)
{
	if (strcmp(word, "=") == 0 && l->wants != NULL)
		return; /* bash parts --name=value */
	if (l->wants != NULL) {
		take_value(l->wants, word);
		l->wants = NULL;
	} else if (word[0] == '-' && word[1] != '\0' && !l->dashes) {
		pass_option(c, l, word);
	} else if (c->command == NULL) {
		c->command = command_find(word);
	} else {
		l->operands++;
		if (c->command->stops)
			l->dashes = true;
	}
}

/* The words of a place: "a|b" or "@kind", `len` bytes. */
static void
offer_words(struct cli *c, const char *words, size_t len, const char *begun,
    const char *prefix)
{
	char buf[1024], shown[1200];
	const char *list[64];

	if (len == 0 || len >= sizeof(buf))
		return;
	if (words[0] == '@') {
		complete_kind(c, words, len, begun);
		return;
	}
	memcpy(shown, words, len);
	shown[len] = '\0';
	words_split(shown, buf, sizeof(buf), list, 64);
	for (size_t i = 0; list[i] != NULL; i++) {
		if (strncmp(list[i], begun, strlen(begun)) != 0)
			continue;
		snprintf(shown, sizeof(shown), "%s%s", prefix, list[i]);
		complete_offer("", shown, "");
	}
}

/* Where the next operand is described. */
static void
offer_operand(struct cli *c, const struct line *l, const char *begun)
{
	const char *words = c->command->words;
	size_t len;

	for (int i = 0; words != NULL && *words != '\0'; i++) {
		bool again;

		len = strcspn(words, " ");
		again = len > 3 && strncmp(words + len - 3, "...", 3) == 0;
		if (i == l->operands || again)
			offer_words(c, words, len - (again ? 3 : 0), begun, "");
		/* one that may be there again, or be the last before what
		 * follows it */
		if (i == l->operands || (again && words[len] == '\0'))
			return;
		words += len + (words[len] == ' ');
		if (again) {
			offer_words(c, words, strlen(words), begun, "");
			return;
		}
	}
}

static void
offer_options(const struct opt *o, const char *begun)
{
	char word[80];

	for (; o != NULL && o->name != NULL; o++) {
		snprintf(word, sizeof(word), "--%s", o->name);
		complete_offer(begun, word, o->help);
	}
}

static void
offer_commands(const char *begun)
{
	for (size_t i = 0; commands[i] != NULL; i++)
		complete_offer(begun, commands[i]->name, commands[i]->summary);
}

/* --name=beg: the whole word is what the shell replaces. */
static void
offer_assigned(struct cli *c, const char *word)
{
	const option_tables tables = CLI_TABLES(c);
	size_t len = strcspn(word, "=");
	const struct opt *o = option_find(tables, word + 2, len - 2);
	char prefix[80];

	if (o == NULL || o->words == NULL || o->words[0] == '@' ||
	    len + 2 > sizeof(prefix))
		return;
	memcpy(prefix, word, len + 1);
	prefix[len + 1] = '\0';
	offer_words(c, o->words, strlen(o->words), word + len + 1, prefix);
}

void
complete_words(struct cli *c, int count, char **words)
{
	struct line l = {0};
	const char *begun = words[count - 1];

	c->command = NULL;
	for (int i = 1; i < count - 1; i++)
		pass_word(c, &l, words[i]);
	if (l.wants != NULL) {
		if (strcmp(begun, "=") == 0)
			begun = "";
		if (l.wants->words != NULL)
			offer_words(c, l.wants->words, strlen(l.wants->words),
			    begun, "");
	} else if (begun[0] == '-' && !l.dashes && strchr(begun, '=') != NULL) {
		if (begun[1] == '-')
			offer_assigned(c, begun);
	} else if (begun[0] == '-' && !l.dashes) {
		offer_options(c->command != NULL ? c->command->options : NULL,
		    begun);
		offer_options(shared_options, begun);
	} else if (c->command == NULL) {
		offer_commands(begun);
	} else {
		offer_operand(c, &l, begun);
	}
}

/* ---------------------------------------------------------------- command */

/* In each, the words are asked for when a key is pressed: the script need not
 * know the table. */
static const char bash_script[] =
    "# bash completion of psup\n"
    "_psup() {\n"
    "	local line word cur=${COMP_WORDS[COMP_CWORD]}\n"
    "	COMPREPLY=()\n"
    "	[ \"$cur\" = = ] && cur=\n"
    "	while IFS= read -r line; do\n"
    "		word=${line%%$'\\t'*}\n"
    "		case $word in\n"
    "		:file)\n"
    "			compopt -o filenames 2>/dev/null\n"
    "			mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "		:dir)\n"
    "			compopt -o filenames 2>/dev/null\n"
    "			mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
    "		:program)\n"
    "			mapfile -t COMPREPLY < <(compgen -c -- \"$cur\") ;;\n"
    "		*=)\n"
    "			compopt -o nospace 2>/dev/null\n"
    "			COMPREPLY+=(\"$word\") ;;\n"
    "		?*)\n"
    "			printf -v word %q \"$word\"\n"
    "			COMPREPLY+=(\"$word\") ;;\n"
    "		esac\n"
    "	done < <(\"${1/#\\~/$HOME}\" completion query -- \\\n"
    "	    \"${COMP_WORDS[@]:0:COMP_CWORD+1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _psup psup\n";

static const char zsh_script[] =
    "#compdef psup\n"
    "_psup() {\n"
    "	local line word\n"
    "	local -a found\n"
    "	for line in \"${(@f)$(${(Q)words[1]} completion query -- \\\n"
    "	    \"${(@Q)words[1,CURRENT]}\" 2>/dev/null)}\"; do\n"
    "		word=${line%%$'\\t'*}\n"
    "		case $word in\n"
    "		(:file) _files ;;\n"
    "		(:dir) _files -/ ;;\n"
    "		(:program) _command_names -e ;;\n"
    "		(?*) found+=(\"${word//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
    "		esac\n"
    "	done\n"
    "	(( $#found )) && _describe psup found\n"
    "}\n"
    "if [ \"$funcstack[1]\" = _psup ]; then\n"
    "	_psup \"$@\"\n"
    "else\n"
    "	compdef _psup psup\n"
    "fi\n";

static const char fish_script[] =
    "# fish completion of psup\n"
    "function __psup_words\n"
    "	set -l words (commandline -opc) (commandline -ct)\n"
    "	for line in ($words[1] completion query -- $words 2>/dev/null)\n"
    "		switch $line\n"
    "			case ':file*'\n"
    "				__fish_complete_path (commandline -ct)\n"
    "			case ':dir*'\n"
    "				__fish_complete_directories "
    "(commandline -ct)\n"
    "			case ':program*'\n"
    "				complete -C(commandline -ct)\n"
    "			case '*'\n"
    "				echo $line\n"
    "		end\n"
    "	end\n"
    "end\n"
    "complete -c psup -f -a '(__psup_words)'\n";

#define SHELLS "bash|zsh|fish"

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct {
		const char *name, *script;
	} shells[] = {{"bash", bash_script}, {"zsh", zsh_script},
	    {"fish", fish_script}};

	if (strcmp(argv[0], "query") == 0) {
		if (argc < 3)
			return cli_usage(c, "query needs psup and a word");
		complete_words(c, argc - 1, argv + 1);
		return EXIT_OK;
	}
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (argc == 1 && strcmp(argv[0], shells[i].name) == 0) {
			fputs(shells[i].script, stdout);
			return EXIT_OK;
		}
	return usage_no_word(&c->usage, "a shell", argv[0], SHELLS);
}

const struct command cmd_completion = {
	.name = "completion",
	.args = SHELLS,
	.words = SHELLS,
	.min_args = 1,
	.max_args = -1,
	.wants = "it needs a shell: bash, zsh or fish",
	.summary = "Print a script that completes psup's words in a shell",
	.about = "For this shell: source <(psup completion bash), or zsh; "
	         "psup completion fish | source. Packages install them. "
	         "Commands, options, their values, and the ids and lanes that "
	         "there are, are completed.\n\n"
	         "psup completion query -- psup WORD... prints what the last "
	         "WORD may be: a line each, a tab before what it is.",
	.run = run,
};
