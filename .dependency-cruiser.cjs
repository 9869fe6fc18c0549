// The import rules, as an allow-list: a part may import only the parts named for it, and of another part only its index.ts.
const base = ["base"];
const common = ["base", "observability"];
const allowed = {
  base: [],
  proto: base,
  observability: base,
  ring: base,
  db: common,
  gossip: [...common, "proto"],
  client: [...common, "proto"],
  git: common,
  storage: [...common, "proto"],
  routing: [...common, "ring"],
  catalog: [...common, "db"],
  admin: common,
  cli: [...common, "client", "proto"],
  cache: [...common, "git", "storage"],
  rpc: [...common, "routing", "proto"],
  hooks: [...common, "git"],
  maintenance: [...common, "cache", "git", "storage", "routing"],
  services: [...common, "rpc", "cache", "catalog", "git", "storage", "routing", "proto"],
  gateway: [...common, "services", "rpc", "routing", "git", "client"],
  config: [],
  server: [],
};
const parts = Object.keys(allowed);
const everything = parts.filter((part) => part !== "server" && part !== "cli");
allowed.config = everything.filter((part) => part !== "config");
allowed.server = everything;

const rules = parts.map((part) => ({
  name: `${part}-imports`,
  severity: "error",
  comment: `src/${part} may import only: ${allowed[part].join(", ") || "nothing of src"}`,
  from: { path: `^src/${part}/` },
  to: {
    path: "^src/",
    pathNot: [
      `^src/${part}/`,
      ...allowed[part].map((name) => `^src/${name}/index\\.ts$`),
      ...(allowed[part].includes("proto") ? ["^src/proto/gen/"] : []),
    ],
  },
}));

module.exports = {
  forbidden: [
    ...rules,
    {
      name: "no-cycles",
      severity: "error",
      from: { pathNot: "^src/proto/gen/" },
      to: { circular: true, viaOnly: { pathNot: "^src/proto/gen/" } },
    },
    {
      name: "own-index",
      severity: "error",
      comment: "inside a part, import the file itself",
      from: { path: "^src/([^/]+)/", pathNot: "/index\\.ts$" },
      to: { path: "^src/$1/index\\.ts$" },
    },
    {
      name: "base-is-pure",
      severity: "error",
      comment: "base uses no package",
      from: { path: "^src/base/" },
      to: { dependencyTypes: ["npm", "npm-dev", "npm-optional"] },
    },
    { name: "src-alone", severity: "error", from: { path: "^src/" }, to: { path: "^(cmd|test)/" } },
    {
      name: "cmd-imports",
      severity: "error",
      from: { path: "^cmd/" },
      to: { path: "^src/", pathNot: "^src/(base|server|config|cli|observability)/index\\.ts$" },
    },
    {
      name: "no-dev-packages",
      severity: "error",
      from: { path: "^(src|cmd)/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] },
    },
    { name: "resolvable", severity: "error", from: {}, to: { couldNotResolve: true, pathNot: "^(\\.\\./)*dist/" } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
