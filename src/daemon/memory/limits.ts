/** Longest key, in characters. */
export const MEMORY_KEY_CHARACTERS = 128;

/** Longest value, in bytes of UTF-8. */
export const MEMORY_VALUE_BYTES = 16_384;

/** Longest name of a task, an agent or a project, in characters. */
export const MEMORY_SCOPE_ID_CHARACTERS = 256;

/** Bytes of one bucket: keys, values and a little for each entry. */
export const MEMORY_SCOPE_BYTES = 1_048_576;

/** Bytes of all buckets of a host together, so that many names are no way around the limit of one. */
export const MEMORY_TOTAL_BYTES = 67_108_864;
