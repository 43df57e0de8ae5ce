// The door of paths: where a host's things are, for the SDK, the CLI, the MCP bridge and the daemon. Imports node alone.
export {
  type Config,
  type ConfigKey,
  type ConfigSource,
  type ConfigValue,
  isConfigKey,
  mergeConfig,
  type PartialConfig,
  parseSetting,
  readConfig,
  SETTINGS,
  writeConfig,
} from "./config.ts";
export { type DaemonOptions, type NotReadyLine, parseDaemonOptions, type ReadyLine } from "./daemon-options.ts";
export { PathsError, type PathsFault } from "./error.ts";
export {
  type Environment,
  type HostPaths,
  hostDirectory,
  type Located,
  locateHost,
  rootLockDirectory,
  SOCKET_PATH_MAX,
} from "./locate.ts";
export { LSP_SERVER_IDS, type LspServerId, type LspServerSetting, type LspServerSettings } from "./lsp-servers.ts";
export { type DaemonMetadata, processStart, readMetadata, writeMetadata } from "./metadata.ts";
export { ensurePrivateDirectory, realPathOf, verifyPrivateDirectory, writePrivateFile } from "./private.ts";
export {
  type NotRestoredLine,
  parseRestoreOptions,
  type RestoredLine,
  type RestoredWorkspace,
  type RestoreOptions,
} from "./restore-options.ts";
export {
  readSecretFile,
  readTokenFile,
  TokenFileError,
  type TokenFileFault,
  writeTokenFile,
} from "./token-file.ts";
export { compareVersions, PROTOCOL, VERSION } from "./version.ts";
