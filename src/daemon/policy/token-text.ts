import { createHash, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Random } from "../base/index.ts";

/** A token's text taken apart. */
export interface TokenText {
  /** "tk_" and the ten public characters. */
  readonly id: string;
  /** The 43 secret characters. */
  readonly secret: string;
}

const ALPHABET = "0123456789abcdefghijklmnopqrstuv";
const SHAPE = /^gin_([0-9a-v]{10})_([A-Za-z0-9_-]{43})_([0-9a-v]{6})$/;

/** A fresh token: "gin_" + public id + "_" + 256 random bits + "_" + checksum, so that scanners know one when they see it. */
export function mintTokenText(random: Random): TokenText & { readonly text: string } {
  const id = Array.from(random.bytes(10), (byte) => ALPHABET.charAt(byte & 31)).join("");
  const secret = Buffer.from(random.bytes(32)).toString("base64url");
  const body = `gin_${id}_${secret}`;
  return { id: `tk_${id}`, secret, text: `${body}_${checksum(body)}` };
}

/** The parts, or undefined for anything that was never minted: a typo costs no look-up. */
export function parseTokenText(text: string): TokenText | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [, id = "", secret = "", sum = ""] = match;
  if (checksum(`gin_${id}_${secret}`) !== sum) return undefined;
  return { id: `tk_${id}`, secret };
}

/** 30 bits of CRC-32 as six characters: against typos, not against people. */
function checksum(body: string): string {
  let rest = crc32(body);
  let sum = "";
  for (let at = 0; at < 6; at++) {
    sum += ALPHABET.charAt(rest & 31);
    rest >>>= 5;
  }
  return sum;
}

/** What is stored of a secret. 256 bits of entropy need no slow hash. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

const NEVER = "0".repeat(64);

/** Compares in the same time whether or not there is a row to compare with. */
export function secretMatches(secret: string, storedSha256: string | undefined): boolean {
  const given = Buffer.from(hashSecret(secret), "hex");
  const kept = Buffer.from(storedSha256 ?? NEVER, "hex");
  return timingSafeEqual(given, kept) && storedSha256 !== undefined;
}
