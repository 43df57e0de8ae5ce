import { isUtf8 } from "node:buffer";

/** Bytes at a file's beginning in which a NUL tells that it is no text. */
const BINARY_BYTES = 8_192;

/** What the beginning of a file gives away, by content and not by name. */
const IMAGES: readonly (readonly [mime: string, fits: (head: Buffer) => boolean])[] = [
  ["image/png", (head) => starts(head, "\x89PNG\r\n\x1a\n")],
  ["image/jpeg", (head) => starts(head, "\xff\xd8\xff")],
  ["image/gif", (head) => starts(head, "GIF87a") || starts(head, "GIF89a")],
  ["image/webp", (head) => starts(head, "RIFF") && head.toString("latin1", 8, 14) === "WEBPVP"],
  ["image/bmp", (head) => starts(head, "BM") && head.includes(0)],
  ["image/x-icon", (head) => starts(head, "\0\0\x01\0") || starts(head, "\0\0\x02\0")],
];

function starts(head: Buffer, magic: string): boolean {
  return head.toString("latin1", 0, magic.length) === magic;
}

/** MIME type of an image; undefined for what is none. SVG, which is text, goes by its name. */
export function imageType(path: string, bytes: Buffer): string | undefined {
  if (/\.svg$/i.test(path)) return "image/svg+xml";
  const head = bytes.subarray(0, 512);
  return IMAGES.find(([, fits]) => fits(head))?.[0];
}

/** Whether it is a PDF, by content or name. */
export function isPdf(path: string, bytes: Buffer): boolean {
  return starts(bytes, "%PDF-") || /\.pdf$/i.test(path);
}

/** Whether it is no text: a NUL within the first 8,192 bytes. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, BINARY_BYTES).includes(0);
}

/** Byte order mark at a file's beginning. */
export type Bom = "none" | "utf-8-bom" | "utf-16-le" | "utf-16-be";

/** How a file's text is written: "8-bit" is text that is not UTF-8, in an encoding that nothing tells. */
export type Encoding = "utf-8" | "utf-16-le" | "utf-16-be" | "8-bit" | "binary";

/** The byte order mark of some bytes. */
export function bomOf(bytes: Buffer): Bom {
  if (starts(bytes, "\xef\xbb\xbf")) return "utf-8-bom";
  if (starts(bytes, "\xff\xfe")) return "utf-16-le";
  return starts(bytes, "\xfe\xff") ? "utf-16-be" : "none";
}

/** The encoding of some bytes. `whole` is false for the beginning of a file, which may end in the middle of a character. */
export function encodingOf(bytes: Buffer, whole: boolean): Encoding {
  const bom = bomOf(bytes);
  if (bom === "utf-16-le" || bom === "utf-16-be") return bom;
  if (isBinary(bytes)) return "binary";
  return isUtf8(whole ? bytes : bytes.subarray(0, wholeCharacters(bytes))) ? "utf-8" : "8-bit";
}

/** Length of the bytes without a character that is cut at their end. */
function wholeCharacters(bytes: Buffer): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back += 1) {
    const byte = bytes[length - back] ?? 0;
    if (byte < 0x80) return length;
    if (byte >= 0xc0) {
      const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needs > back ? length - back : length;
    }
  }
  return length;
}
