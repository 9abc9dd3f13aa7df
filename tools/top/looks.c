/* SPDX-License-Identifier: MIT */
/*
 * The looks: see looks.h. Whether the terminal's ground is light or dark nobody
 * knows, so what has no ground of its own can be read on both: of the 256 with a
 * contrast of 3.3 at least, of the 8 (whose green, yellow and cyan a light ground
 * swallows, and whose blue a dark one) only red and magenta stand alone.
 */
#include "looks.h"

enum { BLACK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, WHITE, OWN = -1 };

const struct look looks[STYLES] = {
    [STYLE_PLAIN] = {0, 0, OWN, OWN, 0, OWN, OWN},
    [STYLE_BOLD] = {LOOK_BOLD, LOOK_BOLD, OWN, OWN, LOOK_BOLD, OWN, OWN},
    [STYLE_DIM] = {LOOK_DIM, LOOK_DIM, OWN, OWN, 0, 245, OWN},
    [STYLE_LABEL] = {0, 0, OWN, OWN, 0, 67, OWN},
    [STYLE_VALUE] = {0, 0, OWN, OWN, 0, OWN, OWN},
    [STYLE_GOOD] = {LOOK_BOLD, LOOK_BOLD, OWN, OWN, 0, 28, OWN},
    [STYLE_WARN] = {LOOK_BOLD, LOOK_BOLD, MAGENTA, OWN, 0, 136, OWN},
    [STYLE_BAD] = {LOOK_BOLD | LOOK_UNDERLINE, LOOK_BOLD, RED, OWN, LOOK_BOLD,
        167, OWN},
    [STYLE_HEAD] = {LOOK_REVERSE, 0, WHITE, BLUE, 0, 253, 238},
    [STYLE_SORTED] = {LOOK_REVERSE | LOOK_BOLD, LOOK_BOLD | LOOK_UNDERLINE,
        WHITE, BLUE, LOOK_BOLD, 117, 238},
    [STYLE_CHOSEN] = {LOOK_REVERSE, LOOK_REVERSE, OWN, OWN, 0, 255, 24},
    [STYLE_KEY] = {LOOK_BOLD, LOOK_BOLD, OWN, OWN, LOOK_BOLD, 32, OWN},
    [STYLE_FOUND] = {LOOK_REVERSE | LOOK_BOLD, 0, BLACK, YELLOW, 0, 16, 179},
    [STYLE_ASK] = {LOOK_REVERSE | LOOK_BOLD, LOOK_BOLD, MAGENTA, OWN,
        LOOK_BOLD, 166, OWN},
};
