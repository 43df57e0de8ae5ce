/** Largest file that is searched as part of a tree: larger ones are recorded without their bytes. */
export const SEARCHED_BYTES = 5 * 1024 * 1024;
/** Characters of a line that are shown. */
export const SHOWN_CHARACTERS = 200;
/** Characters before the match that are shown of a line that is cut. */
export const SHOWN_BEFORE = 60;
/** Characters of text in one answer; at least one hit is always given. */
export const ANSWER_CHARACTERS = 512 * 1024;
/** Longest search, in milliseconds. */
export const SEARCH_MS = 60_000;
/** Characters of contents that all threads together keep decoded. */
export const KEPT_CHARACTERS = 192 * 1024 * 1024;
/** Threads that searched nothing for so long are ended, and what they keep with them; in milliseconds. */
export const IDLE_MS = 600_000;
/** Longest pattern, in UTF-16 units. */
export const PATTERN_UNITS = 64 * 1024;
