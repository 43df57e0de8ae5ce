import type { ServerSpec } from "../types.ts";

/** Servers of compiled languages. */
export const compiledServers: readonly ServerSpec[] = [
  {
    id: "gopls",
    languages: { ".go": "go", "go.mod": "go.mod", "go.work": "go.work" },
    commands: [["gopls", "serve"]],
    install: "go install golang.org/x/tools/gopls@latest",
    markers: ["go.work", "go.mod"],
    folder: "root",
    // It keeps questions until its packages are loaded.
    readiness: { kind: "answers" },
    // What it pushes comes in two parts, the first of which is often empty: a file would be said to have nothing.
    initializationOptions: { pullDiagnostics: true },
    // A go list that failed or was killed: it goes on with the open files alone, and says so to its log.
    doubts: /initial workspace load failed|errors? loading workspace/i,
    untrusted: {
      // No compiler for cgo, no toolchain or module that the project asks for, no driver found in PATH.
      env: { CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOPROXY: "off", GOPACKAGESDRIVER: "off", GOFLAGS: "" },
    },
    runs: "go list; of a trusted workspace also the C compiler for cgo and the toolchain that go.mod names, which go fetches",
    wholeProject: true,
    passes: ["GOPATH", "GOROOT", "GOMODCACHE", "GOCACHE", "GOENV", "GOFLAGS", "GOPROXY", "GOPRIVATE", "XDG_CACHE_HOME"],
  },
  {
    id: "rust-analyzer",
    languages: { ".rs": "rust" },
    commands: [["rust-analyzer"]],
    install: "rustup component add rust-analyzer",
    markers: ["Cargo.toml", "rust-project.json"],
    folder: "topmost",
    readiness: {
      kind: "notification",
      method: "experimental/serverStatus",
      ready: (params) => (params as { readonly quiescent?: unknown } | null)?.quiescent === true,
    },
    // Its manual: all code is trusted; .cargo/config and rust-toolchain.toml already name programs that cargo starts.
    untrusted: "refused",
    runs: "cargo, build scripts, procedural macros, and what .cargo/config and rust-toolchain.toml name",
    wholeProject: true,
    early: true,
    passes: ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"],
  },
  {
    id: "clangd",
    languages: {
      ".c": "c",
      ".h": "c",
      ".cc": "cpp",
      ".cpp": "cpp",
      ".cxx": "cpp",
      ".hh": "cpp",
      ".hpp": "cpp",
      ".hxx": "cpp",
      ".m": "objective-c",
      ".mm": "objective-cpp",
      ".cu": "cuda-cpp",
    },
    // Its index of the whole would be written into the workspace, and is not made anew when files change.
    commands: [["clangd", "--background-index=false", "--header-insertion=never", "--log=error"]],
    install: "apt install clangd (or brew install llvm)",
    markers: ["compile_commands.json", "compile_flags.txt", ".clangd"],
    folder: "root",
    readiness: { kind: "answers" },
    // It asks no compiler (no --query-driver), loads no plugins, and takes no remote index from a project's configuration.
    untrusted: {},
    runs: "nothing; it writes no index into the workspace: what holds a name is opened for a question about it",
    wholeProject: false,
    projects: "open",
    passes: ["XDG_CACHE_HOME", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"],
  },
  {
    id: "jdtls",
    languages: { ".java": "java" },
    commands: [["jdtls"]],
    install: "brew install jdtls, or unpack Eclipse JDT Language Server and put its bin/jdtls in PATH",
    markers: ["pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", ".project"],
    folder: "topmost",
    readiness: {
      kind: "notification",
      method: "language/status",
      ready: (params) => (params as { readonly type?: unknown } | null)?.type === "ServiceReady" || undefined,
    },
    settings: { java: { configuration: { updateBuildConfiguration: "disabled" } } },
    // Maven and Gradle run the build; annotation processors come from the project's own jars.
    untrusted: "refused",
    runs: "the project's Maven or Gradle build, and its annotation processors",
    wholeProject: true,
    passes: ["JAVA_HOME", "JDK_HOME", "GRADLE_USER_HOME", "MAVEN_OPTS", "XDG_CACHE_HOME"],
  },
  {
    id: "zls",
    languages: { ".zig": "zig", ".zon": "zig" },
    commands: [["zls"]],
    install: "install zls of your Zig's version (zigtools.org/zls/install)",
    markers: ["build.zig"],
    folder: "topmost",
    readiness: { kind: "answers" },
    // It runs build.zig to learn the packages.
    untrusted: "refused",
    runs: "the project's build.zig, compiled and started by zig",
    // References of files that nothing open imports are not seen.
    wholeProject: false,
    passes: ["ZIG_GLOBAL_CACHE_DIR", "ZIG_LIB_DIR", "XDG_CACHE_HOME"],
  },
];
