// Runs before each test file, also where several share a process.
import { afterAll } from "vitest";
import { endFile } from "./teardown.ts";

afterAll(endFile);
