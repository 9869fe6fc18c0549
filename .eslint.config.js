import tseslint from "typescript-eslint";

// Two rules only, those that need types; Biome does the rest.
export default tseslint.config({
  files: ["src/**/*.ts", "cmd/**/*.ts", "test/**/*.ts"],
  ignores: ["src/proto/gen/**"],
  plugins: { "@typescript-eslint": tseslint.plugin },
  languageOptions: { parser: tseslint.parser, parserOptions: { project: ["./test/tsconfig.json"], tsconfigRootDir: import.meta.dirname } },
  rules: { "@typescript-eslint/no-floating-promises": "error", "@typescript-eslint/no-misused-promises": "error" },
});
