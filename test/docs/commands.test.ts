import { describeDocument, documents } from "./document.ts";

/** The longest one has a file of its own (cli.test.ts), so that two workers share the time. */
for (const document of documents) if (document !== "docs/cli.md") describeDocument(document);
