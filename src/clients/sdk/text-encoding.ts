import { isUtf8 } from "node:buffer";
import { configureTextEncoding, getTextEncoding } from "@bufbuild/protobuf/wire";

/**
 * Makes messages of this process keep a byte order mark at the start of a text: protobuf's own decoder drops it, and a file
 * that is read and saved again would lose three bytes. The daemon's listener does the same on its side; rooms of the two do
 * not import each other.
 */
export function keepByteOrderMarks(): void {
  configureTextEncoding({
    ...getTextEncoding(),
    decodeUtf8(bytes, strict) {
      if (strict === true && !isUtf8(bytes)) throw new TypeError("a text is not UTF-8");
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
    },
  });
}
