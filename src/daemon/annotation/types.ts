/** Where an annotation's lines stand at head: all in place, all elsewhere, some there, none there, or history does not say. */
export type Standing = "same" | "moved" | "changed" | "gone" | "unknown";
